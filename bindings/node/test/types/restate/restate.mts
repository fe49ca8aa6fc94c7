// Agents on Restate, as a program writes them.

import { serve } from '@restatedev/restate-sdk'
import type { ObjectContext } from '@restatedev/restate-sdk'
import { tool } from 'agent-loop'
import { restateAgent, restateTool } from 'agent-loop/restate'
import type { RestateContext } from 'agent-loop/restate'

const weather = tool({
  name: 'weather',
  parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
  execute: ({ city }) => `rain in ${city}`,
})
const remind = restateTool({
  name: 'remind',
  parameters: { type: 'object', properties: { days: { type: 'number' } }, required: ['days'] },
  execute: async ({ days }, { restate, idempotencyKey }) => {
    const context: ObjectContext = restate
    await context.sleep({ days: Number(days) })
    return idempotencyKey
  },
})
const context: RestateContext | undefined = undefined
const options = { model: 'openai/gpt-4.1', maxTurns: 3, apiKey: 'k', network: { proxy: false } } as const
const assistant = restateAgent('assistant', { ...options, tools: [weather, remind], inactivityTimeoutMs: 1000 })
// @ts-expect-error hooks are functions, which a replay cannot repeat
restateAgent('assistant', { ...options, beforeToolCall: () => undefined })

/** Called by a service of the program. */
export async function ask(ctx: ObjectContext): Promise<unknown> {
  const client = ctx.objectClient(assistant, 'ann')
  const delivery: string = await client.steer('In short.')
  void [delivery, context]
  return client.prompt('Rain in Oslo?')
}

void serve({ services: [assistant], port: 9080 })

/**
 * agent-loop/restate: agents on Restate, whose conversations survive their process, on several machines.
 *
 * ```ts
 * import { serve } from '@restatedev/restate-sdk'
 * import { tool } from 'agent-loop'
 * import { restateAgent } from 'agent-loop/restate'
 *
 * const weather = tool({
 *   name: 'weather',
 *   parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
 *   execute: ({ city }) => `rain in ${city}`,
 * })
 * serve({ services: [restateAgent('assistant', { model: 'anthropic/claude-sonnet-4-5', tools: [weather] })], port: 9080 })
 * ```
 *
 * See `docs/scale.md`.
 *
 * @packageDocumentation
 */

import * as restate from '@restatedev/restate-sdk'

import { invalidArgument, invalidState } from './errors.js'
import type { LoopStart } from './loop.js'
import { Conversation } from './restate-conversation.js'
import { Definition } from './restate-definition.js'
import * as inbox from './restate-inbox.js'
import type { Tool } from './tool.js'

export { restateTool } from './restate-steps.js'
export type { RestateContext, RestateToolOptions } from './restate-steps.js'

/** The options of {@link restateAgent}: those of an agent that are plain values. */
export interface RestateAgentOptions
  extends Omit<
    LoopStart,
    'prompt' | 'decisions' | 'messages' | 'export' | 'runId' | 'runSeed' | 'tools' | 'hooks' | 'providers'
  > {
  /** What the model may call. Each call is a step of the journal; those of {@link restateTool} use Restate themselves. */
  tools?: readonly Tool[] | undefined
  /** As an agent takes it; by default the key is in the environment. It does not get into the journal. */
  apiKey?: string | undefined
  /** As an agent takes it. */
  network?: object | undefined
  /**
   * For how long a handler stays in memory while it waits, in milliseconds; 600,000 by default. A model call or a tool that takes
   * longer than this and `abortTimeoutMs` together is called again.
   */
  inactivityTimeoutMs?: number | undefined
  /** See `inactivityTimeoutMs`; 600,000 by default. */
  abortTimeoutMs?: number | undefined
  /**
   * What a conversation may have in JSON; by default 30 MiB, as Restate's own `message-size-limit` is 32 MiB. A message that
   * there is no room for is refused with the status 413. A run that makes it larger fails with it, and leaves the conversation as
   * it was, without what the run took in.
   */
  maxConversationBytes?: number | undefined
}

/** The handlers of {@link restateAgent}, as clients of Restate call them. */
export interface RestateAgentHandlers {
  prompt(ctx: restate.ObjectContext, message: unknown): Promise<unknown>
  resume(ctx: restate.ObjectContext): Promise<unknown>
  steer(ctx: restate.ObjectSharedContext, message: unknown): Promise<string>
  follow_up(ctx: restate.ObjectSharedContext, message: unknown): Promise<string>
  abort(ctx: restate.ObjectSharedContext): Promise<boolean>
  decide(ctx: restate.ObjectSharedContext, decisions: unknown): Promise<void>
  state(ctx: restate.ObjectSharedContext): Promise<unknown>
}

/** Options of an agent that are functions, or the conversation, with the reason why they are refused. */
const REFUSED: Readonly<Record<string, string>> = {
  messages: 'the conversation of a session is kept by Restate; leave it out',
  session: 'the conversation of a session is kept by Restate; leave it out',
  hooks: 'a run on Restate cannot replay hooks; use tools, and their needsApproval',
  middleware: 'a run on Restate cannot replay it; use tools, and their needsApproval',
  provider: 'a run on Restate has models behind HTTP only',
  providers: 'a run on Restate has models behind HTTP only',
}

/**
 * An agent as a virtual object of Restate: the object's key is the session. Its handlers:
 *
 * - `prompt(message)`: a text, a message, or a list of messages; returns the result of the run. The prompts of a session run one
 *   at a time. A run that ends with an error is a result, too, with its `error`
 * - `resume()`: goes on after a run that failed
 * - `steer(message)`, `follow_up(message)`: from anywhere, at any time; return `joined` if a run is active, else `queued`
 * - `abort()`: ends the active run; returns whether there is one
 * - `decide(decisions)`: about the calls that wait; the prompt that waits for it goes on
 * - `state()`: `{messages, pending, is_running, waiting}`
 *
 * Messages and results are canonical JSON, as all languages have them (`fromCanonical` of agent-loop/canonical).
 *
 * @param name The name of the object.
 * @param options The model, the tools, and any options of an agent that are plain values.
 * @throws InvalidArgumentError for an unknown or wrong option; InvalidStateError before Node 22, which Restate's SDK needs.
 */
export function restateAgent(
  name: string,
  options: RestateAgentOptions,
): restate.VirtualObjectDefinition<string, RestateAgentHandlers> {
  if (!('withResolvers' in Promise)) {
    throw invalidState(`agent-loop/restate needs Node 22 or later, as Restate's SDK does; this is Node ${process.versions.node}`)
  }
  for (const [option, why] of Object.entries(REFUSED)) {
    if ((options as unknown as Record<string, unknown>)[option] !== undefined) throw invalidArgument(`option "${option}": ${why}`)
  }
  const { inactivityTimeoutMs = 600_000, abortTimeoutMs = 600_000, maxConversationBytes, apiKey, network, ...rest } = options
  const { tools = [], ...plain } = rest
  const definition = new Definition(name, plain, tools, { apiKey, network }, maxConversationBytes)
  const slow = { inactivityTimeout: inactivityTimeoutMs, abortTimeout: abortTimeoutMs }
  const { exclusive, shared } = restate.handlers.object
  const put = async (ctx: restate.ObjectSharedContext, type: inbox.Item['type'], message: unknown) => {
    const room = definition.room(await ctx.get('conversation', restate.serde.binary))
    return inbox.call<string>(ctx, name, 'put', { type, message: message ?? null, room })
  }
  return restate.object({
    name,
    description: `The agent ${name}; the key is the session.`,
    handlers: {
      prompt: exclusive(slow, async (ctx: restate.ObjectContext, message: unknown) => {
        return new Conversation(ctx, definition).run({ prompt: message })
      }),
      resume: exclusive(slow, async (ctx: restate.ObjectContext) => new Conversation(ctx, definition).run({})),
      steer: shared((ctx: restate.ObjectSharedContext, message: unknown) => put(ctx, 'steer', message)),
      follow_up: shared((ctx: restate.ObjectSharedContext, message: unknown) => put(ctx, 'follow_up', message)),
      abort: shared(async (ctx: restate.ObjectSharedContext) => {
        return (await inbox.call<string>(ctx, name, 'put', { type: 'abort' })) === 'joined'
      }),
      decide: shared(async (ctx: restate.ObjectSharedContext, decisions: unknown) => {
        const kept = await ctx.get<{ export?: object }>('conversation')
        definition.checkDecisions(decisions, kept?.export)
        await inbox.call(ctx, name, 'decide', decisions)
      }),
      state: shared(async (ctx: restate.ObjectSharedContext) => {
        const kept = await ctx.get<{ export?: { messages?: unknown[] }; pending?: { tool_call_id: string }[] }>('conversation')
        const { suspended, ...now } = await inbox.call<inbox.Now>(ctx, name, 'state')
        const pending = kept?.pending?.filter((call) => suspended.includes(call.tool_call_id)) ?? []
        return { messages: kept?.export?.messages ?? [], pending, ...now }
      }),
      ...inbox.handlers,
    },
  })
}

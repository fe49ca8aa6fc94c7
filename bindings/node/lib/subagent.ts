/**
 * Agents as tools of other agents: subagents.
 */

import { enter, nextNumber, settled } from './bridge.js'
import { causesOf } from './causes.js'
import { callOf, forkAgent } from './agent-parts.js'
import type { AgentParts } from './agent-parts.js'
import { AgentError, expectFunction, invalidArgument } from './errors.js'
import { messagesJson, promptJson } from './message.js'
import type { Message, PromptInput } from './message.js'
import { isObject, kindOf, shown } from './object.js'
import type { ArgumentsOf, ParametersSchema } from './schema.js'
import { isA } from './thrown.js'
import { Tool } from './tool.js'
import type { ToolOptions } from './tool.js'
import { endTraces, traced } from './traces.js'

const PARAMETERS = {
  type: 'object',
  properties: { prompt: { type: 'string', description: 'What to do, with all that is needed to do it.' } },
  required: ['prompt'],
}

/** The options of a tool that runs an agent; the others are those of any tool. */
export interface SubagentOptions<S = ParametersSchema> extends Omit<ToolOptions<S>, 'execute' | 'parameters'> {
  /** The arguments, of which `prompt` makes the prompt. By default the model gives the `prompt`, a text. */
  parameters?: S | undefined
  /** Makes the prompt of the arguments. */
  prompt?: ((args: ArgumentsOf<S>) => PromptInput | Promise<PromptInput>) | undefined
  /**
   * Which of the agent's events come in the run that calls it, as `subagent_event`: `all` (default), `messages` (all but the
   * pieces of messages), or `none`.
   */
  events?: 'all' | 'messages' | 'none' | undefined
  /** Whether calls go on with the agent's own conversation, and its session if it has one; they take turns. */
  keepConversation?: boolean | undefined
}

/** @internal The tool that {@link Agent.asTool} returns. */
export function asTool(parts: AgentParts, messages: readonly Message[], options: SubagentOptions<any>): Tool {
  if (!isObject(options)) throw invalidArgument(`asTool: expected an object { name, description }, got ${kindOf(options)}`)
  const { prompt, events = 'all', keepConversation = false, parameters, ...others } = options
  const what = `tool ${JSON.stringify(options.name)}`
  if (!['all', 'messages', 'none'].includes(events)) {
    throw invalidArgument(`${what}: events: expected "all", "messages" or "none", got ${shown(events)}`)
  }
  if (parameters !== undefined && prompt === undefined) {
    throw invalidArgument(`${what}: parameters: give prompt, too, a function that makes the prompt of the arguments`)
  }
  if (prompt !== undefined) expectFunction(`${what}: prompt`, prompt)
  const text = messagesJson('messages', messages)
  // Calls that go on with one conversation take turns.
  let last: Promise<unknown> = Promise.resolve()
  return new Tool({
    ...others,
    parameters: parameters ?? PARAMETERS,
    async execute(args: { prompt: string }, context) {
      const given = promptJson(prompt === undefined ? args.prompt : await prompt(args))
      const call = callOf(what, context)
      if (!keepConversation) return answer(() => forkAgent(parts, text), given, events, call)
      const checked = () => {
        if (call !== undefined) parts.native.checkTurnOf(call)
        return parts
      }
      try {
        checked()
      } catch (error) {
        if (!isA(error, AgentError)) throw error
        return failed(error.message)
      }
      const turn = last.then(() => answer(checked, given, events, call))
      last = turn.catch(() => {})
      return turn
    },
  })
}

/** The options of a tool that hands a conversation to an agent: those of any tool. */
export type HandoffOptions<S = ParametersSchema> = Omit<ToolOptions<S>, 'execute'>

/** @internal The tool that {@link Agent.asHandoff} returns. */
export function asHandoff(parts: AgentParts, options: HandoffOptions<any>): Tool {
  if (!isObject(options)) throw invalidArgument(`asHandoff: expected an object { name, description }, got ${kindOf(options)}`)
  const what = `tool ${JSON.stringify(options.name)}`
  return new Tool({
    ...options,
    execute(_: unknown, context) {
      const call = callOf(what, context)
      if (call === undefined) return failed('a conversation can be handed over only in a run of an agent')
      try {
        const { native, callbacks, deps } = forkAgent(parts, '[]')
        // Its callbacks live as long as what the run's throw.
        causesOf(call)?.hold(callbacks, callbacks.begin(deps))
        return enter(() => native.takeOver(call))
      } catch (error) {
        if (!isA(error, AgentError)) throw error
        return failed(error.message)
      }
    },
  })
}

/** An error result, in the same words in every language. */
function failed(why: string): unknown {
  return { content: [{ type: 'text', text: why }], isError: true }
}

/** The result of a call that the agent answers. */
async function answer(
  agent: () => AgentParts,
  prompt: string,
  events: string,
  call: ReturnType<typeof callOf>,
): Promise<unknown> {
  const ticket = nextNumber()
  let callbacks, deps
  try {
    const parts = agent()
    ;({ callbacks, deps } = parts)
    parts.answers.ofRun = undefined
    const { isInside } = callbacks
    traced(callbacks.tracerProvider, ticket, () => {
      enter(() => parts.native.answerCall(prompt, ticket, isInside, events, call))
    })
  } catch (error) {
    if (!isA(error, AgentError)) throw error
    // Why it cannot run is for the model, in the same words in every language.
    return failed(error.message)
  }
  const { text = '' } = await settled(ticket, callbacks, callbacks.begin(deps))
  endTraces(ticket)
  return JSON.parse(text) as unknown
}

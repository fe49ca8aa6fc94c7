/**
 * One model call, without a loop: what routers, summarizers and workflow engines need.
 */

import { enter } from './bridge.js'
import { errorOf, invalidArgument, invalidState } from './errors.js'
import { promptJson } from './message.js'
import type { AssistantMessage, PromptInput } from './message.js'
import { native } from './native.js'
import { isObject, kindOf } from './object.js'
import { makeAgent } from './agent-parts.js'
import type { CallSettings, ModelSpec } from './options.js'
import { Run } from './run.js'
import { RUN_OPTIONS, STREAM_OPTIONS, checkedOptions } from './signal.js'
import type { RunOptions, StreamOptions } from './signal.js'
import { Tool } from './tool.js'
import type { ToolOptions } from './tool.js'

/** The description of a tool that the caller of a model executes. */
export type ToolDescription = Omit<ToolOptions, 'execute' | 'prepareArguments'>

/** What a model is called with, besides its messages. */
interface CallContext {
  /** The system prompt; empty by default. */
  systemPrompt?: string | undefined
  /** What the model may call: tools, or their descriptions. None is executed. */
  tools?: readonly (Tool | ToolDescription)[] | undefined
}

/** The options of {@link complete}. */
export interface CompleteOptions extends Omit<CallSettings, 'model'>, CallContext, RunOptions {}

/** The options of {@link streamComplete}. */
export interface StreamCompleteOptions extends CompleteOptions, StreamOptions {}

/**
 * Calls a model once, without a loop, and returns its answer. The tool calls of the answer are the caller's: none is executed.
 *
 * ```ts
 * const topic = await complete(model, 'Rain in Oslo?', { systemPrompt: 'Name the topic, in one word.' })
 * ```
 *
 * @param model `provider/id`, or an object, as of an agent.
 * @param messages Text, a message, or several messages such as a history; the last one is to be answered.
 * @param options Any options of requests, limits, retries and fallbacks, the hooks of a model call, and a signal that aborts it.
 * @throws AgentError when the call failed and no retry and no fallback was left (the error has the result); InvalidArgumentError
 * when nothing is to be answered (no message, an empty one, an answer as the last one), for an option of the loop, such as
 * `maxTurns`, and as `Agent`; the signal's reason when the signal aborted the call.
 */
export async function complete(
  model: string | ModelSpec,
  messages: PromptInput,
  options: CompleteOptions = {},
): Promise<AssistantMessage> {
  const { message, error } = await start(model, messages, options, RUN_OPTIONS).result()
  if (message !== null) return message
  // Only a shutdown leaves none.
  throw error === undefined ? invalidState('the call was ended before the model answered') : errorOf(error)
}

/**
 * Same as {@link complete}, but returns the call as a run, to iterate over its events: those of a run of one turn that has no
 * input. Its result has the answer as `message`; its `steer` and `followUp` throw an InvalidStateError.
 *
 * @param options As of `complete`, and `raiseErrors: false` to end the iteration over a failed call normally.
 * @throws InvalidArgumentError as `complete`.
 */
export function streamComplete(model: string | ModelSpec, messages: PromptInput, options: StreamCompleteOptions = {}): Run {
  return start(model, messages, options, STREAM_OPTIONS)
}

function start(model: string | ModelSpec, messages: PromptInput, options: StreamCompleteOptions, known: readonly string[]): Run {
  if (!isObject(options)) {
    throw invalidArgument(`options: expected an object such as { systemPrompt, tools }, got ${kindOf(options)}`)
  }
  const { signal, raiseErrors, tools, ...settings }: StreamCompleteOptions = options
  if (raiseErrors !== undefined && !known.includes('raiseErrors')) {
    throw invalidArgument('option "raiseErrors": complete throws the error of a call that failed; use streamComplete')
  }
  const misplaced = ['model', 'messages'].find((name) => name in options)
  if (misplaced !== undefined) throw invalidArgument(`option ${JSON.stringify(misplaced)}: give it before the options`)
  const given = Object.entries(settings).filter(([, value]) => value !== undefined && value !== null)
  enter(() => native.checkCallOptions(given.map(([name]) => name)))
  const checked = checkedOptions({ signal, raiseErrors }, STREAM_OPTIONS)
  const text = promptJson(messages, 'messages')
  const { native: agent, callbacks } = makeAgent({ ...settings, model, tools: described(tools ?? []) }, true)
  return new Run(callbacks, checked, (ticket, aborted) => agent.runCall(text, ticket, aborted))
}

/** Tools, also of what is only described; what is neither is reported where tools are read. */
function described(tools: readonly unknown[]): readonly unknown[] {
  if (!Array.isArray(tools)) return tools
  return tools.map((one: unknown) => {
    const isDescription = isObject(one) && Tool.inside(one) === undefined && !('execute' in one)
    return isDescription ? new Tool({ ...(one as ToolDescription), execute: notExecuted }) : one
  })
}

function notExecuted(): never {
  throw invalidState('one model call executes no tool')
}

/**
 * Stateless runs: runs without an agent, over a context that the caller owns and that is never changed.
 */

import { enter } from './bridge.js'
import { takeDecisions } from './decisions.js'
import { invalidArgument } from './errors.js'
import { messagesJson, promptJson } from './message.js'
import type { MessageInput, PromptInput } from './message.js'
import { native } from './native.js'
import type { NativeRun } from './native.js'
import { isObject, kindOf } from './object.js'
import { makeAgent } from './agent-parts.js'
import type { Settings } from './options.js'
import { Run } from './run.js'
import { STREAM_OPTIONS, checkedOptions } from './signal.js'
import type { StreamOptions } from './signal.js'
import type { StreamResumeOptions } from './suspension.js'
import type { Tool } from './tool.js'

/** The context of a stateless run. */
export interface Context {
  /** The system prompt; empty by default. */
  systemPrompt?: string | undefined
  /** The conversation so far. */
  messages?: readonly MessageInput[] | undefined
  /** The tools that the model may call. */
  tools?: readonly Tool[] | undefined
}

/** The options of a stateless run. */
export interface LoopOptions extends Settings, StreamOptions {}

/** The options of a stateless run that goes on with a context. */
export interface LoopResumeOptions extends Settings, StreamResumeOptions {}

/**
 * Starts a stateless run. Steering and follow-up messages come from the run's `steer` and `followUp`, and from the hooks
 * `getSteeringMessages` and `getFollowUpMessages`; the result's `undelivered` has those that were not used.
 *
 * ```ts
 * const result = await run({ systemPrompt: 'Be brief.', messages }, 'Rain in Oslo?', { model }).result()
 * messages.push(...result.messages)
 * ```
 *
 * @param context The system prompt, the conversation so far and the tools.
 * @param prompts Text, a message, or several messages.
 * @param options The model, and any other options.
 * @returns The run, to iterate over its events or to await its result.
 * @throws InvalidArgumentError for an invalid context, prompt or option, or a model that cannot be used.
 */
export function run(context: Context, prompts: PromptInput, options: LoopOptions): Run {
  return start(context, promptJson(prompts), options)
}

/**
 * Starts a stateless run that continues a context without adding a message; see {@link run}. `decisions` are for the calls of
 * the last answer that have no result in the context.
 *
 * @throws InvalidArgumentError as {@link run}; InvalidStateError if the context has no message, or ends with an answer.
 */
export function resume(context: Context, options: LoopResumeOptions): Run {
  const [others, decisions] = takeDecisions(options)
  return start(context, undefined, others as LoopOptions, decisions)
}

const PARTS = ['systemPrompt', 'messages', 'tools']

function start(context: Context, text: string | undefined, options: LoopOptions, decisions?: string): Run {
  if (!isObject(context)) throw invalidArgument('context: expected an object { systemPrompt, messages, tools }')
  if (!isObject(options)) {
    throw invalidArgument('options: expected an object, for example { model: "anthropic/claude-sonnet-4-5" }')
  }
  enter(() => native.checkContextFields(Object.keys(context)))
  const misplaced = PARTS.find((name) => name in options)
  if (misplaced !== undefined) throw invalidArgument(`option ${JSON.stringify(misplaced)}: give it in the context`)
  const { systemPrompt: given, messages, tools } = context
  const systemPrompt = given ?? ''
  if (typeof systemPrompt !== 'string') throw invalidArgument(`context: systemPrompt: expected text, got ${kindOf(systemPrompt)}`)
  const { signal, raiseErrors, ...settings } = options
  const checked = checkedOptions({ signal, raiseErrors }, STREAM_OPTIONS)
  const { native: agent, callbacks, answers, deps } = makeAgent({ ...settings, tools }, true)
  const list = messagesJson('context: messages', messages ?? [])
  const begin = (ticket: number, aborted: boolean): NativeRun =>
    agent.runLoop(systemPrompt, list, text, ticket, aborted, decisions)
  return new Run(callbacks, checked, begin, { typed: answers.own, deps })
}

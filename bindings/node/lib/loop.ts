/**
 * The loop without an agent: runs over a context that the caller owns and that is never changed.
 */

import { isObject } from './canonical.js'
import { invalidArgument } from './errors.js'
import { messagesJson, promptJson } from './message.js'
import type { MessageInput, PromptInput } from './message.js'
import { makeAgent } from './options.js'
import type { Settings } from './options.js'
import { Run } from './run.js'
import { checkedSignal } from './signal.js'
import type { RunOptions } from './signal.js'
import type { Tool } from './tool.js'

/** What a run without an agent begins with. */
export interface Context {
  /** What the model is told first. */
  systemPrompt?: string
  /** The conversation so far. */
  messages?: readonly MessageInput[]
  /** What the model may call. */
  tools?: readonly Tool[]
}

/** How a run without an agent is made. */
export interface LoopOptions extends Settings, RunOptions {}

/**
 * Runs prompts over a context. Steering and follow-up come from the run's `steer` and `followUp`, and from the hooks
 * `getSteeringMessages` and `getFollowUpMessages`; what was not shown of them is in the result's `undelivered`.
 *
 * ```ts
 * const result = await run({ systemPrompt: 'Be brief.', messages }, 'Rain in Oslo?', { model }).result()
 * messages.push(...result.messages)
 * ```
 *
 * @throws InvalidArgumentError for a wrong context, prompt or option, or a model that cannot be used.
 */
export function run(context: Context, prompts: PromptInput, options: LoopOptions): Run {
  return start(context, promptJson(prompts), options)
}

/**
 * Goes on with a context as it stands, adding no message; see {@link run}.
 *
 * @throws As {@link run}; InvalidStateError when the context has no message, or ends with an answer.
 */
export function resume(context: Context, options: LoopOptions): Run {
  return start(context, undefined, options)
}

const PARTS = ['systemPrompt', 'messages', 'tools']

function start(context: Context, text: string | undefined, options: LoopOptions): Run {
  if (!isObject(context)) throw invalidArgument('context: expected an object { systemPrompt, messages, tools }')
  if (!isObject(options)) {
    throw invalidArgument('options: expected an object, for example { model: "anthropic/claude-sonnet-4-5" }')
  }
  const unknown = Object.keys(context).find((name) => !PARTS.includes(name))
  if (unknown !== undefined) {
    throw invalidArgument(`unknown context field ${JSON.stringify(unknown)}; known are ${PARTS.join(', ')}`)
  }
  const misplaced = PARTS.find((name) => name in options)
  if (misplaced !== undefined) throw invalidArgument(`option ${JSON.stringify(misplaced)}: give it in the context`)
  const { systemPrompt = '', messages = [], tools = [] } = context
  if (typeof systemPrompt !== 'string') throw invalidArgument(`context: systemPrompt: expected text, got ${typeof systemPrompt}`)
  const { signal, ...settings } = options
  const checked = checkedSignal(signal)
  const { native, callbacks } = makeAgent({ ...settings, tools })
  const list = messagesJson('context: messages', messages)
  const started = new Run(callbacks, checked, (ticket, aborted) => native.runLoop(systemPrompt, list, text, ticket, aborted))
  callbacks.begin()
  return started
}

/**
 * A loop that its host steps: the program does the HTTP, the timers and the tools itself, in whatever event loop it has.
 */

import { bridge, enter } from './bridge.js'
import { canonical, snakeCase, withToJson } from './canonical.js'
import { invalidArgument, invalidState } from './errors.js'
import { asEvent } from './event.js'
import { canonicalAnswer } from './hook.js'
import type { HookName } from './hook.js'
import { jsonOfArgument } from './json.js'
import { native } from './native.js'
import type { NativeExchange, NativeLoop, NativeTool } from './native.js'
import { isObject, kindOf, shown } from './object.js'
import type { ModelSpec, OptionChanges } from './options.js'
import { typedOf } from './output.js'
import type { LoopAction, LoopInput } from './steps.js'
import type { Decisions } from './suspension.js'
import type { MessageInput, PromptInput } from './message.js'
import { Tool } from './tool.js'
import type { ToolOptions } from './tool.js'

/** A tool that the host of a {@link Loop} executes. */
export interface LoopTool extends Omit<ToolOptions, 'execute' | 'prepareArguments' | 'needsApproval'> {
  /** Whether the loop asks `prepare_arguments` before it validates the arguments of a call. */
  prepareArguments?: boolean | undefined
  /** Whether each call waits for a decision; `ask`: the loop asks `needs_approval` for each. */
  needsApproval?: boolean | 'ask' | undefined
}

/** The canonical name of a hook, for example `before_tool_call`. */
export type LoopHook = SnakeCase<HookName>

type SnakeCase<Name extends string> = Name extends `${infer First}${infer Rest}`
  ? First extends Lowercase<First>
    ? `${First}${SnakeCase<Rest>}`
    : `_${Lowercase<First>}${SnakeCase<Rest>}`
  : Name

/** What `configure` may change. */
export interface LoopChanges extends Omit<OptionChanges, 'apiKey' | 'network' | 'record' | 'replay'> {
  /** What the model may call: tools, or their descriptions. */
  tools?: readonly (Tool | LoopTool)[] | undefined
  /** The names of the hooks that the loop asks. */
  hooks?: readonly LoopHook[] | undefined
  /** The names of custom providers, for whose models the host answers itself. */
  providers?: readonly string[] | undefined
}

/** What a {@link Loop} is made with. */
export interface LoopStart extends LoopChanges {
  /** The model: `provider/id`, or an object where that is not enough. */
  model: string | ModelSpec
  /** What the run begins with; without one it resumes. */
  prompt?: PromptInput | undefined
  /** What is decided about calls that wait. */
  decisions?: Decisions | undefined
  /** The conversation so far. */
  messages?: readonly MessageInput[] | undefined
  /** The conversation so far, as `export` returned it. */
  export?: string | undefined
  /** The id of the run; by default a new one. */
  runId?: string | undefined
  /** A whole number, from which the jitter of the backoff and made ids come; by default a random one. */
  runSeed?: number | undefined
}

/**
 * One run that the program steps: `poll` returns what is to be done, `handle` takes in the result.
 *
 * ```ts
 * import { Loop } from 'agent-loop'
 *
 * const run = new Loop({ model: 'anthropic/claude-sonnet-4-5', prompt: 'Rain in Oslo?' })
 * for (let action; (action = run.poll(Date.now())); ) {
 *   if (action.type === 'event') console.log(action.event.type)
 *   if (action.type === 'call_model') console.log(`${action.url} is to get ${action.body}`)
 *   if (action.type === 'done') console.log(action.result.text)
 * }
 * ```
 *
 * It does no IO, has no thread and no clock. Actions and inputs are the same in every language; `docs/stepping.md` lists them.
 * Here their fields are in camel case, and `JSON.stringify` writes actions in canonical form. It has no API key: the program adds
 * its own to the requests, as `auth` says.
 */
export class Loop {
  #native: NativeLoop

  /**
   * @param options The model, what the run begins with, and any other options of an agent but for `apiKey`, `network`,
   *   `record` and `replay`; headers may have no key.
   * @throws InvalidArgumentError for an unknown or wrong option; InvalidStateError when there is nothing to resume.
   */
  constructor(options: LoopStart) {
    const loaded = LOADED.get(options)
    if (!isObject(options)) throw invalidArgument(`options: expected an object such as { model, prompt }, got ${kindOf(options)}`)
    this.#native = loaded ?? enter(() => new native.Loop(optionsJson(options)))
  }

  /**
   * Loads a loop as {@link Loop.save} returned it, in this or in another language. The same inputs lead to the same actions as
   * those of the saved one; {@link Loop.openActions} has what was under way.
   *
   * @throws InvalidArgumentError for a text that is no saved loop, or one of an older version; NewerVersionError for one of a
   *   newer version.
   */
  static load(text: string): Loop {
    if (typeof text !== 'string') throw invalidArgument(`text: expected a string, got ${kindOf(text)}`)
    const options = {} as LoopStart
    LOADED.set(options, enter(() => native.Loop.load(text)))
    return new Loop(options)
  }

  /**
   * Returns the next thing to do; undefined until there is another input, or the time of the last `set_timer` has come. Each
   * action comes once.
   *
   * @param nowMs Milliseconds since the epoch. It must not go back.
   */
  poll(nowMs: number): LoopAction | undefined {
    if (typeof nowMs !== 'number' || !(nowMs >= 0)) throw new TypeError(`nowMs: expected milliseconds, got ${shown(nowMs)}`)
    const action = enter(() => this.#native.poll(nowMs))
    return action === null ? undefined : actionOf(JSON.parse(action))
  }

  /**
   * Takes in what happened. It does not act on it: poll again. What belongs to a call that is over is ignored.
   *
   * @throws InvalidArgumentError for an unknown input or a wrong field; InvalidStateError for what comes too early.
   */
  handle(input: LoopInput): void {
    if (!isObject(input)) throw invalidArgument(`input: expected an object with a type, got ${kindOf(input)}`)
    const fields = Object.entries(input).filter(([, value]) => value !== undefined)
    // A tool that has returned nothing, in JavaScript.
    if (input.type === 'tool_done' && 'result' in input && input.result === undefined) fields.push(['result', null])
    const given = fields.map(([name, value]) => [snakeCase(name), this.#canonical(name, value, input)])
    enter(() => this.#native.handle(jsonOfArgument('input', Object.fromEntries(given))))
  }

  #canonical(name: string, value: unknown, input: LoopInput): unknown {
    if (name === 'message' || name === 'error') return canonical(value)
    if (name === 'options' && isObject(value)) return described(value)
    if (input.type !== 'hook_answer' || name !== 'answer') return value
    const hook = this.#native.hookOf(input.questionId)
    return hook === null ? value : canonicalAnswer(hook, value)
  }

  /**
   * Takes in bytes of the response to a `call_model`, as they come, cut anywhere, and not compressed.
   *
   * @throws InvalidStateError before the call's `model_response`.
   */
  modelBytes(call: number, data: Uint8Array): void {
    if (!(data instanceof Uint8Array)) throw invalidArgument(`data: expected a Uint8Array, got ${kindOf(data)}`)
    enter(() => this.#native.modelBytes(call, data))
  }

  /** @internal Throws the error of options with which there is no {@link Loop.exchange}. */
  static checkExchange(options: object): void {
    enter(() => native.checkExchange(jsonOfArgument('options', options)))
  }

  /** @internal The HTTP of a model call over the engine's connections. */
  static exchange(run: Loop, call: number, options: object): NativeExchange {
    return enter(() => run.#native.exchange(bridge, call, jsonOfArgument('options', options)))
  }

  /**
   * Returns what is under way: model calls, tool calls and questions to hooks that have no end yet, and the timer. For a program
   * that has loaded a loop. Of a model call that was open, hand in the rest of its bytes, or `model_end` with an error. A tool
   * may have run already; its `idempotencyKey` is the same.
   */
  openActions(): LoopAction[] {
    const actions: LoopAction[] = JSON.parse(enter(() => this.#native.openActions()))
    return actions.map(actionOf)
  }

  /**
   * Returns the whole state as one text, for {@link Loop.load}: between any two calls, also in the middle of a model's answer. It
   * has the conversation and the options, and no API key.
   */
  save(): string {
    return enter(() => this.#native.save())
  }

  /**
   * Returns the conversation that the run has left, as an agent's `export` does without a key: for the option `export` of another
   * loop, or `Agent.fromExport`.
   *
   * @throws BusyError before the end of the run.
   */
  export(): string {
    return enter(() => this.#native.export())
  }
}

/** What `load` hands to the constructor. */
const LOADED = new WeakMap<object, NativeLoop>()

/** An action that was read, and what is in it: they write themselves in canonical form. */
function actionOf(action: LoopAction): LoopAction {
  if (action.type === 'event') asEvent(action.event)
  else if (action.type === 'done') withToJson(action.result)
  else if (action.type === 'call_custom_model') withToJson(action.request)
  else if (action.type === 'ask_hook') withToJson(action.input)
  return withToJson(action)
}

function optionsJson(options: LoopStart): string {
  const { messages, prompt, ...rest } = described(options) as LoopStart
  const given = { ...rest, messages: canonical(messages), prompt: canonical(prompt) }
  const texts = Object.entries(given).filter(([, value]) => value !== undefined)
  return `{${texts.map(([name, value]) => `${JSON.stringify(name)}:${jsonOfArgument(`option "${name}"`, value)}`).join(',')}}`
}

/** Options with the descriptions of their tools. What is no list is reported where tools are read. */
function described(options: object): object {
  const { tools, output } = options as LoopChanges
  const typed = typedOf(output)
  const given = typed === undefined ? options : { ...options, output: typed.json }
  return Array.isArray(tools) ? { ...given, tools: tools.map(description) } : given
}

function description(given: unknown): unknown {
  if (!isObject(given)) return given
  const { prepareArguments, ...rest } = given as unknown as LoopTool
  const inside = Tool.inside(given) ?? Tool.inside(new Tool({ ...rest, execute: notExecuted } as ToolOptions))
  const prepares = typeof prepareArguments === 'function' || prepareArguments
  return { ...JSON.parse(enter(() => (inside as NativeTool).describe())), prepareArguments: prepares ?? false }
}

function notExecuted(): never {
  throw invalidState('the host of a loop executes its tools')
}

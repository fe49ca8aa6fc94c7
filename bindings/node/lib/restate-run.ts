/**
 * A run of the loop in a handler of Restate: its actions become steps of the journal, and the values of the steps its inputs.
 *
 * All inputs of the loop are in the journal, times included, so that a replay leads to the same actions.
 */

import { CancelledError, RestatePromise } from '@restatedev/restate-sdk'
import type { ObjectContext } from '@restatedev/restate-sdk'

import type { Loop } from './loop.js'
import type { RunResult } from './run.js'
import { isOfCaller } from './restate-definition.js'
import type { Definition } from './restate-definition.js'
import type { Inputs, Item } from './restate-inbox.js'
import { ABORTED, HookStep, ModelStep, ToolStep, bodyOf, callInHandler, wantsRestate } from './restate-steps.js'
import type { Exchanged, Outcome, Step } from './restate-steps.js'
import type { LoopAction, LoopInput } from './steps.js'

type ActionOf<Type extends LoopAction['type']> = Extract<LoopAction, { type: Type }>

/** Something that is under way: it takes in its value. */
interface Open {
  kind: 'model' | 'tool' | 'hook'
  step: Step<unknown>
  promise: RestatePromise<() => void>
}

/** @internal One run. It goes on until nothing is left to do. */
export class Run {
  nowMs: number
  isCancelled = false
  readonly #ctx: ObjectContext
  readonly #definition: Definition
  readonly #loop: Loop
  readonly #inputs: Inputs
  /** What is under way, in the order in which it began. */
  readonly #open = new Map<string, Open>()
  #timerMs: number | null = null
  #sleep: { atMs: number; promise: RestatePromise<() => void> } | undefined
  /** When the model call was over whose answer was handed in last. */
  #passedMs: number | undefined
  /** An abort that the loop takes in after the model call that it ends. */
  #isAborting = false

  constructor(ctx: ObjectContext, definition: Definition, loop: Loop, inputs: Inputs, nowMs: number) {
    this.#ctx = ctx
    this.#definition = definition
    this.#loop = loop
    this.#inputs = inputs
    this.nowMs = nowMs
  }

  /** Runs to the end; returns the result. A cancelled invocation is an aborted run. */
  async toEnd(): Promise<RunResult> {
    for (;;) {
      try {
        const result = await this.#act()
        if (result !== undefined) return result
        if (this.#passedMs === undefined) {
          await this.#wait()
        } else {
          this.#advance(this.#passedMs)
          this.#passedMs = undefined
          if (this.#isAborting) this.#loop.handle({ type: 'abort' })
        }
      } catch (error) {
        if (!(error instanceof CancelledError)) throw error
        this.isCancelled = true
        this.takeInput({ type: 'abort' })
      }
    }
  }

  /** Takes in steering, a follow-up or an abort. */
  takeInput(item: Item): void {
    const models = [...this.#open.values()].filter(({ kind }) => kind === 'model')
    if (item.type !== 'abort' || models.length === 0) {
      try {
        return this.#loop.handle(item as LoopInput)
      } catch (error) {
        // One that the loop refuses has the id of another message: it was sent twice.
        if (!isOfCaller(error)) throw error
        return
      }
    }
    // The answer so far is a part of the aborted message, so it has to be in the journal first.
    this.#isAborting = true
    for (const { step } of models) step.cancel()
  }

  /** Does what the loop asks for; the result at its end. */
  async #act(): Promise<RunResult | undefined> {
    for (let action; (action = this.#loop.poll(this.nowMs)); ) {
      if (action.type === 'call_model') this.#callModel(action)
      else if (action.type === 'call_tool') await this.#callTool(action)
      else if (action.type === 'ask_hook') this.#ask(action)
      else if (action.type === 'cancel_model') this.#close(`model ${action.call}`)
      else if (action.type === 'cancel_tool') this.#cancelTool(action)
      else if (action.type === 'cancel_hook' || action.type === 'leave_hook') this.#close(`hook ${action.questionId}`)
      else if (action.type === 'set_timer') this.#timerMs = action.atMs
      else if (action.type === 'done') return action.result
    }
    return undefined
  }

  /** Waits until something has happened, and takes it in. */
  async #wait(): Promise<void> {
    const open = [...this.#open.values()]
    const timerMs = this.#timerMs
    // While a model answers, its HTTP keeps the limits of time.
    if (timerMs === null || open.some(({ kind }) => kind === 'model')) {
      this.#sleep = undefined
    } else if (this.#sleep?.atMs !== timerMs) {
      const slept = this.#ctx.sleep(Math.max(0, timerMs - this.nowMs), 'timer')
      const wake = () => {
        this.#advance(timerMs)
        this.#sleep = undefined
      }
      this.#sleep = { atMs: timerMs, promise: slept.map((_, failure) => afterwards(failure, wake)) }
    }
    const next = this.#inputs.next().map((item, failure) =>
      afterwards(failure, () => {
        this.#inputs.taken()
        if (item !== undefined) this.takeInput(item)
      }),
    )
    const sleeping = this.#sleep === undefined ? [] : [this.#sleep.promise]
    const take = await RestatePromise.race([...open.map(({ promise }) => promise), next, ...sleeping])
    take()
  }

  /** Clocks of machines differ; the loop's time does not go back. */
  #advance(toMs: number): void {
    this.nowMs = Math.max(this.nowMs, toMs)
  }

  #begin<T>(kind: Open['kind'], number: number, name: string, step: Step<T>, take: (value: T) => void): void {
    const key = `${kind} ${number}`
    // The loop reads of the abort after it has asked for this.
    if (this.#isAborting) step.cancel()
    const { attemptCompletedSignal } = this.#ctx.request()
    const begun = this.#ctx.run(name, () => step.run(attemptCompletedSignal))
    const promise = begun.map((value, failure) =>
      afterwards(failure, () => {
        if (!this.#open.has(key)) return
        this.#open.delete(key)
        take(value as T)
      }),
    )
    this.#open.set(key, { kind, step, promise })
  }

  #close(key: string): void {
    this.#open.get(key)?.step.cancel()
    this.#open.delete(key)
  }

  #callModel({ call }: ActionOf<'call_model'>): void {
    const step = new ModelStep(this.#loop, call, this.#definition.exchange)
    this.#begin('model', call, `model call ${call}`, step, (done: Exchanged) => {
      this.#advance(done.last_ms)
      if (done.status !== null) {
        this.#loop.handle({ type: 'model_response', call, status: done.status, headers: done.headers })
        this.#loop.modelBytes(call, bodyOf(done))
      }
      if (done.error !== null) this.#loop.handle({ type: 'model_end', call, error: done.error })
      else if (done.is_complete) this.#loop.handle({ type: 'model_end', call })
      this.#passedMs = done.end_ms
    })
  }

  async #callTool(action: ActionOf<'call_tool'>): Promise<void> {
    const { call, toolName, toolCallId } = action
    const tool = this.#definition.tool(toolName)
    const take = (done: Outcome & { at_ms: number }) => {
      this.#advance(done.at_ms)
      if ('suspended' in done) this.#loop.handle({ type: 'tool_suspended', call, reason: done.suspended })
      else if ('error' in done) this.#loop.handle({ type: 'tool_done', call, error: done.error })
      else this.#loop.handle({ type: 'tool_done', call, result: done.result })
    }
    if (!wantsRestate(tool)) return this.#begin('tool', call, `${toolName} ${toolCallId}`, new ToolStep(tool, action), take)
    const done = this.#isAborting ? ABORTED : await callInHandler(tool, action, this.#ctx)
    take({ ...done, at_ms: await this.#ctx.date.now() })
  }

  #cancelTool({ call, abandoned }: ActionOf<'cancel_tool'>): void {
    if (abandoned) this.#close(`tool ${call}`)
    else this.#open.get(`tool ${call}`)?.step.cancel()
  }

  #ask({ questionId, hook, input }: ActionOf<'ask_hook'>): void {
    const { tool_name: toolName, arguments: args } = JSON.parse(JSON.stringify(input)) as { tool_name: string; arguments: object }
    const tool = this.#definition.tool(toolName)
    this.#begin('hook', questionId, `${hook} ${toolName}`, new HookStep(tool, hook, args), ({ at_ms, ...done }) => {
      this.#advance(at_ms)
      this.#loop.handle({ type: 'hook_answer', questionId, ...done } as LoopInput)
    })
  }
}

/** What is done once a promise has its value; its failure, if it has failed. */
function afterwards(failure: Error | undefined, work: () => void): () => void {
  if (failure !== undefined) throw failure
  return work
}

/**
 * What callbacks throw, kept until the error that it leads to is thrown, which has it as its `cause`.
 *
 * Native errors pass through other threads, and lie in transcripts for long. They have a number only. The values belong to their
 * run, and go with it.
 */

import { nextNumber } from './bridge.js'

/** @internal A thrown value. In an object, as it may be undefined. */
export interface Thrown {
  readonly value: unknown
}

/** @internal What the callbacks of one run have thrown, by number; and what the application gives them. */
export class Causes {
  readonly deps: unknown
  readonly #thrown = new Map<number, Thrown>()
  readonly #held: unknown[] = []

  constructor(deps?: unknown) {
    this.deps = deps
  }

  /** Keeps a value until no native error refers to it any more. */
  keep(value: unknown): number {
    const number = nextNumber()
    this.#thrown.set(number, { value })
    return number
  }

  /** Keeps values for as long as the run. */
  hold(...values: unknown[]): void {
    this.#held.push(...values)
  }

  find(number: number): Thrown | undefined {
    return this.#thrown.get(number)
  }

  drop(number: number): void {
    this.#thrown.delete(number)
  }
}

const OF_CALLS = new WeakMap<object, Causes>()

/** @internal Remembers which run a call is of. */
export function setCauses(call: object, causes: Causes): void {
  OF_CALLS.set(call, causes)
}

/** @internal What belongs to the run of a call. */
export function causesOf(call: object): Causes | undefined {
  return OF_CALLS.get(call)
}

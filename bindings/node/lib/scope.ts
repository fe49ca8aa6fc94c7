/**
 * Whether code runs inside a callback of an agent, where waiting for that agent would never end.
 */

import { AsyncLocalStorage } from 'node:async_hooks'

interface Inside {
  readonly agent: number
  /** False once the callback has returned: code that it left running is no longer inside. */
  open: boolean
  readonly outer: Inside | undefined
}

const storage = new AsyncLocalStorage<Inside | undefined>()
/** The number of callbacks that are running. */
let running = 0

/** @internal */
export function isInside(agent: number): boolean {
  for (let inside = storage.getStore(); inside !== undefined; inside = inside.outer) {
    if (inside.agent === agent && inside.open) return true
  }
  return false
}

/** @internal Runs a callback of an agent, including what it awaits. */
export async function runInside<T>(agent: number, callback: () => T | Promise<T>): Promise<T> {
  const inside: Inside = { agent, open: true, outer: storage.getStore() }
  running++
  try {
    return await storage.run(inside, callback)
  } finally {
    inside.open = false
    // An enabled storage slows every promise of the process down (up to Node 22). All its entries are closed here.
    if (--running === 0) storage.disable()
  }
}

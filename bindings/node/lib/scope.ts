/**
 * Whether code runs inside a tool or listener of an agent, where waiting for that agent would wait for ever.
 */

import { AsyncLocalStorage } from 'node:async_hooks'

interface Inside {
  readonly agent: number
  /** False once the callback has returned: what it left running is not inside any more. */
  open: boolean
  readonly outer: Inside | undefined
}

const storage = new AsyncLocalStorage<Inside | undefined>()
/** How many callbacks run now. */
let running = 0

/** @internal */
export function isInside(agent: number): boolean {
  for (let inside = storage.getStore(); inside !== undefined; inside = inside.outer) {
    if (inside.agent === agent && inside.open) return true
  }
  return false
}

/** @internal Runs a callback of an agent, and all that it awaits. */
export async function runInside<T>(agent: number, callback: () => T | Promise<T>): Promise<T> {
  const inside: Inside = { agent, open: true, outer: storage.getStore() }
  running++
  try {
    return await storage.run(inside, callback)
  } finally {
    inside.open = false
    // A storage in use makes every promise of the process dearer (up to Node 22). What it forgets here is closed anyway.
    if (--running === 0) storage.disable()
  }
}

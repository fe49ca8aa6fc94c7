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
  try {
    return await storage.run(inside, callback)
  } finally {
    inside.open = false
  }
}

/**
 * agent-loop/testing: for tests of one's own, of providers and of user interfaces.
 *
 * ```ts
 * const events = []
 * for await (const event of agent.stream('go')) events.push(event)
 * checkEvents(events)
 * ```
 *
 * @packageDocumentation
 */

import { enter } from './bridge.js'
import { canonical, isObject } from './canonical.js'
import { invalidArgument } from './errors.js'
import type { AgentEvent } from './event.js'
import { jsonOfArgument } from './json.js'
import { native } from './native.js'

/**
 * Checks the events of one run, in order: that their order, numbers and fields are such as the loop gives, and that what they say of
 * messages fits together.
 *
 * @throws InvalidArgumentError that names the first event that does not fit, and why.
 */
export function checkEvents(events: Iterable<AgentEvent>): void {
  if (!isObject(events) || !(Symbol.iterator in events)) throw invalidArgument(`events: expected a list of events, got ${typeof events}`)
  const text = jsonOfArgument('events', canonical(Array.from(events)))
  enter(() => native.checkEvents(text))
}

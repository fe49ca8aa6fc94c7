/**
 * agent-loop/testing: checks for your tests of providers and user interfaces.
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
import { canonical } from './canonical.js'
import { invalidArgument } from './errors.js'
import type { AgentEvent } from './event.js'
import { jsonOfArgument } from './json.js'
import { native } from './native.js'
import { isObject } from './object.js'

/**
 * Checks the events of one run: their order, sequence numbers and fields, and whether the messages they report are consistent.
 *
 * @param events All events of the run, in order.
 * @throws InvalidArgumentError for the first invalid event; the message names it and the reason.
 */
export function checkEvents(events: Iterable<AgentEvent>): void {
  if (!isObject(events) || !(Symbol.iterator in events)) {
    throw invalidArgument(`events: expected a list of events, got ${typeof events}`)
  }
  const text = jsonOfArgument('events', canonical(Array.from(events)))
  enter(() => native.checkEvents(text))
}

/**
 * agent-loop/testing: for tests of agents with recorded answers of their models, and checks for tests of providers and user
 * interfaces.
 *
 * ```ts
 * const events = []
 * for await (const event of agent.stream('go')) events.push(event)
 * checkEvents(events)
 * ```
 *
 * @packageDocumentation
 */

import { existsSync, mkdirSync, rmSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

import { enter } from './bridge.js'
import { canonical } from './canonical.js'
import { invalidArgument, invalidState } from './errors.js'
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

/** A test, as `node:test` gives it to its function. */
export interface RecordedTest {
  /** Its name. */
  readonly name: string
  /** Its name behind those of the suites that it is in. Node 20.16 and newer give it. */
  readonly fullName?: string | undefined
  /** The path or the `file:` URL of its file; that of the program by default. */
  readonly filePath?: string | undefined
}

/** One of these two options of an agent. */
export interface AgentRecording {
  record?: string
  replay?: string
}

/** The files that this process records: what was in them before is deleted once. */
const begun = new Set<string>()

/**
 * Options of an agent whose model answers as it was recorded, in the test's own file: `recordings/<file>.<test>.jsonl`, beside
 * the test's.
 *
 * ```ts
 * import assert from 'node:assert/strict'
 * import { test } from 'node:test'
 *
 * import { Agent } from 'agent-loop'
 * import { agentRecording } from 'agent-loop/testing'
 *
 * test('rain', async (t) => {
 *   const agent = new Agent({ model: 'anthropic/claude-sonnet-4-5', ...agentRecording(t) })
 *   assert.match((await agent.prompt('How does it smell after rain?')).text, /rain/)
 * })
 * ```
 *
 * With the variable `AGENT_LOOP_RECORD=1`, the tests that run are recorded with their real models, in place of what was recorded
 * before.
 *
 * @param test What `node:test` gives to the test's function; with another library, `{ name, filePath: import.meta.url }`.
 * @throws InvalidStateError where there is no recording and none is to be made; it says how to make it.
 */
export function agentRecording(test: RecordedTest): AgentRecording {
  const { name, fullName, filePath } = isObject(test) ? test : ({} as Partial<RecordedTest>)
  const path = filePath ?? process.argv[1]
  if (typeof name !== 'string' || typeof (fullName ?? name) !== 'string' || typeof path !== 'string') {
    throw invalidArgument('test: expected the context of a test, as in test("rain", (t) => agentRecording(t))')
  }
  const place = path.startsWith('file:') ? fileURLToPath(path) : path
  const module = basename(place).replace(/(\.(test|spec))?\.[cm]?[jt]sx?$/, '')
  const within = (fullName ?? name).replaceAll(' > ', '.')
  const file = join(dirname(place), 'recordings', enter(() => native.testFileName(module, within)))
  if (!['', '0', undefined].includes(process.env['AGENT_LOOP_RECORD'])) {
    if (!begun.has(file)) {
      mkdirSync(dirname(file), { recursive: true })
      rmSync(file, { force: true })
      begun.add(file)
    }
    return { record: file }
  }
  if (existsSync(file)) return { replay: file }
  throw invalidState(
    `there is no recording ${file}: run the test with AGENT_LOOP_RECORD=1 to record it with its real model; then it needs no ` +
      'network and no key',
  )
}

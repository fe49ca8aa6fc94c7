/**
 * Recorded runs, played again.
 */

import { invalidArgument } from './errors.js'
import { isObject, kindOf } from './object.js'
import { makeAgent } from './agent-parts.js'
import { Run } from './run.js'
import { STREAM_OPTIONS, checkedOptions } from './signal.js'
import type { StreamOptions } from './signal.js'

/** The options of {@link replay}. */
export interface ReplayRunOptions extends StreamOptions {
  /** Which run of the file is played: 1, 2, 3 …; the first by default. */
  run?: number | undefined
}

/**
 * Plays a recorded run again: with the events that it had when it was recorded, as fast as they are read. There is no network, no
 * key, no tool and no hook, and the run may have been recorded in another language. To test an agent with its own tools, give it
 * the option `replay`.
 *
 * ```ts
 * for await (const event of replay('runs.jsonl', { run: 2 })) console.log(event.type)
 * ```
 *
 * @param recording The file of the option `record`.
 * @returns The run, to iterate over its events or to await its result. It takes no messages: its `steer` and `followUp` throw an
 * InvalidStateError. Where this version of the library does something else than the one that recorded the run, it fails with a
 * ReplayError, which says where.
 * @throws IoError for a file that cannot be read; DamagedError and NewerVersionError, which name the line, for one that is no
 * recording of this version; InvalidArgumentError for a run that it does not have.
 */
export function replay(recording: string, options: ReplayRunOptions = {}): Run {
  if (typeof recording !== 'string') throw invalidArgument(`recording: expected the path of a file, got ${kindOf(recording)}`)
  if (!isObject(options)) throw invalidArgument(`options: expected an object such as { run: 2 }, got ${kindOf(options)}`)
  const { run = 1, ...others }: ReplayRunOptions = options
  if (!Number.isInteger(run) || run < 1 || run > 0xffff_ffff) {
    throw invalidArgument('option "run": expected the number of a run, 1 or more')
  }
  const checked = checkedOptions(others, STREAM_OPTIONS)
  // It only stands for the agent whose run it was.
  const { native, callbacks } = makeAgent({ model: { provider: 'scripted', id: 'replay', script: [] } }, true)
  return new Run(callbacks, checked, (ticket, aborted) => native.runReplay(recording, run, ticket, aborted))
}

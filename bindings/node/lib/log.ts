/**
 * Log records: what the engine reports to whoever runs the program.
 */

import { bridge, enter, onLog } from './bridge.js'
import type { Thrown } from './causes.js'
import type { ErrorInfo } from './errors.js'
import { errorOf, expectFunction, invalidArgument } from './errors.js'
import { textOf } from './thrown.js'

/** How grave a log record is. */
export type LogLevel =
  // <generated: levels>
  /** A run failed. */
  | 'error'
  /** A function of the application failed, or a model call is retried. */
  | 'warn'
  /** Something unusual that is no failure. */
  | 'info'
  /** What happens in any case. */
  | 'debug'
  // </generated>

/** What a log record is about. */
export type LogCode =
  // <generated: codes>
  /** A run ended with the outcome `error`. */
  | 'run_error'
  /** A run ended otherwise. */
  | 'run_end'
  /** A model call ended. */
  | 'model_call'
  /** A tool call has its result. */
  | 'tool_call'
  /** A model call failed and is retried. */
  | 'retry'
  /** A tool or its middleware failed, and did not return an error result. */
  | 'tool_error'
  /** A hook or a tool's `prepare_arguments` failed. */
  | 'hook_error'
  /** `after_run` did not return in time; the run ended without it. */
  | 'hook_left'
  /** A listener failed. Without `event`, it had been left. */
  | 'listener_error'
  /** A listener did not return in time; it gets no event until it does. */
  | 'listener_left'
  /** A listener that was left has returned. */
  | 'listener_back'
  /** A run could not be recorded. The next run of the agent fails at its start. */
  | 'record_error'
  /** An access token could not be replaced; the old one is used while it is valid. */
  | 'token_kept'
  /** The system has no certificate authorities; the bundled ones are used. */
  | 'bundled_roots'
  /** An optional MCP server cannot be reached; the run goes on without its tools. */
  | 'mcp_unreachable'
  /** A tool of an MCP server is left out: it cannot be offered to models. */
  | 'mcp_tool_left_out'
  /** Spans or measurements did not reach the collector that the option `traces` names. */
  | 'traces_lost'
  /** The function for records was too slow, and so many were dropped. */
  | 'records_dropped'
  // </generated>

/** A log record. */
export interface LogRecord {
  level: LogLevel
  code: LogCode | (string & {})
  /** One line, with the message of the error. */
  message: string
  /** The run, as its events have it; absent of what several runs share. */
  runId?: string
  /** The conversation of the run. */
  conversationId?: string
  /** The turn of the run, from 1. */
  turn?: number
  /** The fields of the code, named as in docs/logs.md. */
  data: Record<string, unknown>
  /**
   * The cause, if there is one: what a function of the application has thrown, the same value; of other failures an
   * `AgentError`.
   */
  error?: unknown
}

const LEVELS: readonly LogLevel[] = [
  // <generated: list of levels>
  'error',
  'warn',
  'info',
  'debug',
  // </generated>
]

type Log = (record: LogRecord) => unknown

let current: Log | undefined
let hasWarned = false

/**
 * Sets the function that gets the log records of all agents of this thread (the main one, or a worker), or removes it.
 *
 * ```ts
 * import { setLog } from 'agent-loop'
 *
 * setLog(({ level, message, error }) => console[level](message, error ?? ''))
 * ```
 *
 * It is called on this thread, in the `AsyncLocalStorage` context of the record's run. No run waits for it, and it does not keep
 * the process alive. One that throws changes nothing; the first time, a warning of the process says so.
 *
 * @param log The function; null or undefined for none.
 * @param level The last level that it gets: `error`, `warn`, `info` (unless given) or `debug`, all of them. For runs that begin
 * afterwards.
 * @throws InvalidArgumentError for an unknown level.
 */
export function setLog(log: ((record: LogRecord) => unknown) | null | undefined, level: LogLevel = 'info'): void {
  if (!LEVELS.includes(level)) {
    throw invalidArgument(`setLog: level: expected ${LEVELS.map((name) => `"${name}"`).join(', ')}, got ${String(level)}`)
  }
  if (log !== null && log !== undefined) expectFunction('setLog', log)
  current = log ?? undefined
  enter(() => bridge.setLog(current && level))
  onLog(write)
}

/** Gives a record to the function. Does not throw. */
function write(text: string, thrown: Thrown | undefined): void {
  if (current === undefined) return
  const fields = JSON.parse(text) as Omit<LogRecord, 'error'> & { error?: ErrorInfo }
  const { error, ...record } = fields
  try {
    const written = current(error === undefined ? record : { ...record, error: thrown ? thrown.value : errorOf(error) })
    // An async function.
    void Promise.resolve(written).catch(warn)
  } catch (failure) {
    warn(failure)
  }
}

function warn(failure: unknown): void {
  if (hasWarned) return
  hasWarned = true
  process.emitWarning(`the function given to setLog failed: ${textOf(failure)}`)
}

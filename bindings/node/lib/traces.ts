/**
 * Runs as spans and measurements of OpenTelemetry, with the package `@opentelemetry/api` of the application: the option `traces`.
 *
 * The engine says when which span begins and ends. They belong to the trace of the code that starts the run, and while a tool is
 * called its span is the current one.
 */

import type * as Api from '@opentelemetry/api'

import { onTraces } from './bridge.js'
import { invalidArgument } from './errors.js'
import { native } from './native.js'
import { isObject, kindOf } from './object.js'

/** Who makes spans: a tracer provider of OpenTelemetry. */
export interface TracerProvider {
  getTracer(name: string, version?: string, options?: any): any
}

type Api = typeof import('@opentelemetry/api')

/** The records of `src/traces.rs`. */
type Time = [number, number]
type Values = Record<string, string | number | string[]>
type Start = [0, number, number, boolean, string, Time, Values, number, [string, string, number] | null]
type End = [1, number, Time, Values, string | null, boolean]
type Measured = [2, string, number, Values]

/** A run that is not over, with the context of the code that has started it. */
interface TracedRun {
  readonly context: Api.Context
  readonly tracer: Api.Tracer
}

const [SCOPE, SCHEMA_URL] = native.traceScope() as [string, string]
/** How many runs that may be gone on with are remembered. */
const MOST_SUSPENDED = 1000

const runs = new Map<number, TracedRun>()
const spans = new Map<number, Api.Span>()
/** The spans of runs that may be gone on with. */
const suspended = new Map<number, Api.SpanContext>()
const histograms = new WeakMap<object, Map<string, Api.Histogram>>()
let loaded: Api | undefined

/** Bundlers take a module as optional inside of a `try`. */
function api(): Api {
  if (loaded !== undefined) return loaded
  try {
    loaded = require('@opentelemetry/api') as Api
  } catch {
    const text = 'the package @opentelemetry/api is not installed; `npm install @opentelemetry/api`, or leave it out'
    throw invalidArgument(`option "traces": ${text}`)
  }
  onTraces(write)
  return loaded
}

/** @internal The option among others, of which the engine gets a flag; the provider, null for the global one. */
export function takeTraces(options: { traces?: unknown }): TracerProvider | null | undefined {
  const { traces } = options
  if (traces === undefined || traces === null || traces === false) return undefined
  if (traces !== true && !(isObject(traces) && typeof traces.getTracer === 'function')) {
    const text = `expected true or false, or a tracer provider of OpenTelemetry, got ${kindOf(traces)}`
    throw invalidArgument(`option "traces": ${text}`)
  }
  api()
  options.traces = true
  return traces === true ? null : (traces as unknown as TracerProvider)
}

/** @internal A run begins here, if `start` does not throw. Its records come with this number. */
export function traced<T>(provider: TracerProvider | null | undefined, number: number, start: () => T): T {
  if (provider === undefined) return start()
  const { context, trace } = api()
  const tracer = (provider ?? trace).getTracer(SCOPE, native.version(), { schemaUrl: SCHEMA_URL }) as Api.Tracer
  runs.set(number, { context: context.active(), tracer })
  try {
    return start()
  } catch (error) {
    runs.delete(number)
    throw error
  }
}

/** @internal The run is over: there are no more records of it. */
export function endTraces(number: number): void {
  runs.delete(number)
}

/** @internal The same, later: a function that keeps nothing else. */
export function endOf(number: number): () => void {
  return () => endTraces(number)
}

/** @internal Whether a run has spans, and is not known to be over. */
export function isTraced(number: number): boolean {
  return runs.has(number)
}

/** @internal Calls a tool, or middleware, with its span as the current one. */
export function insideSpan<T>(number: number, call: () => T): T {
  const span = number === 0 ? undefined : spans.get(number)
  if (span === undefined) return call()
  const { context, trace } = api()
  return context.with(trace.setSpan(context.active(), span), call)
}

function write(number: number, text: string): void {
  const run = runs.get(number)
  if (run === undefined) return
  for (const record of JSON.parse(text) as (Start | End | Measured)[]) {
    try {
      if (record[0] === 0) start(run, record)
      else if (record[0] === 1) end(record)
      else measure(record)
    } catch (error) {
      // Of the application's tracer: a run has nothing to do with it, and the other records are not lost.
      process.emitWarning(`a tracer of the option "traces" failed: ${String(error)}`)
    }
  }
}

function start(run: TracedRun, [, id, parent, isClient, name, startTime, attributes, link, remote]: Start): void {
  const { SpanKind, trace } = api()
  let { context } = run
  const around = spans.get(parent)
  if (around !== undefined) context = trace.setSpan(context, around)
  else if (remote !== null) {
    const [traceId, spanId, traceFlags] = remote
    context = trace.setSpanContext(context, { traceId, spanId, traceFlags, isRemote: true })
  }
  const earlier = suspended.get(link)
  const links = earlier === undefined ? [] : [{ context: earlier }]
  const kind = isClient ? SpanKind.CLIENT : SpanKind.INTERNAL
  spans.set(id, run.tracer.startSpan(name, { kind, attributes, startTime, links }, context))
}

function end([, id, time, attributes, error, isSuspended]: End): void {
  const span = spans.get(id)
  spans.delete(id)
  if (span === undefined) return
  if (isSuspended) {
    suspended.set(id, span.spanContext())
    if (suspended.size > MOST_SUSPENDED) suspended.delete(suspended.keys().next().value!)
  }
  span.setAttributes(attributes)
  if (error !== null) span.setStatus({ code: api().SpanStatusCode.ERROR, ...(error === '' ? {} : { message: error }) })
  span.end(time)
}

function measure([, name, value, attributes]: Measured): void {
  instruments().get(name)?.record(value, attributes)
}

function instruments(): Map<string, Api.Histogram> {
  const provider = api().metrics.getMeterProvider()
  let found = histograms.get(provider)
  if (found === undefined) {
    const meter = provider.getMeter(SCOPE, native.version(), { schemaUrl: SCHEMA_URL })
    const rows = JSON.parse(native.instruments()) as [string, string, string, number[]][]
    const histogram = ([name, unit, description, bounds]: (typeof rows)[number]): [string, Api.Histogram] => {
      return [name, meter.createHistogram(name, { unit, description, advice: { explicitBucketBoundaries: bounds } })]
    }
    found = new Map(rows.map(histogram))
    histograms.set(provider, found)
  }
  return found
}

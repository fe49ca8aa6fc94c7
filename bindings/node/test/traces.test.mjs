// Spans and measurements, as the SDK of OpenTelemetry gets them: those of scenarios are compared with their spans.json.

import assert from 'node:assert/strict'
import { existsSync, readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach, describe, test } from 'node:test'

import { SpanKind, SpanStatusCode, context, metrics, trace } from '@opentelemetry/api'
import {
  AggregationTemporality,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
} from '@opentelemetry/sdk-metrics'
import { InMemorySpanExporter, NodeTracerProvider, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-node'

import { Agent, complete, tool } from 'agent-loop'

import { projectFolder } from './helpers.mjs'
import { play } from './scenarios/player.mjs'

const exporter = new InMemorySpanExporter()
const provider = new NodeTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] })
// With the context of async calls.
provider.register()
const exportedMetrics = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE)
const reader = new PeriodicExportingMetricReader({ exporter: exportedMetrics, exportIntervalMillis: 3_600_000 })
metrics.setGlobalMeterProvider(new MeterProvider({ readers: [reader] }))

const scenarios = join(projectFolder, 'tests/scenarios')
const names = readdirSync(scenarios).filter((name) => existsSync(join(scenarios, name, 'spans.json')))
const read = (...path) => JSON.parse(readFileSync(join(scenarios, ...path), 'utf8'))

// What is another value in each run, or another one in real time.
const UNSTABLE = ['gen_ai.conversation.id', 'agent_loop.run.id', 'gen_ai.response.time_to_first_chunk']
const REMOTE = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01'

const idOf = (span) => span.spanContext().spanId
const parentOf = (span) => span.parentSpanContext?.spanId

function inOrder(nodes) {
  const key = (node) => JSON.stringify(node)
  return nodes.sort((a, b) => (key(a) < key(b) ? -1 : 1))
}

/** Fields in one order. */
function sorted(node) {
  const { name, kind, attributes, error, links, children } = node
  const fields = Object.entries(attributes).sort(([a], [b]) => (a < b ? -1 : 1))
  return {
    name,
    kind,
    attributes: Object.fromEntries(fields),
    ...(error === undefined ? {} : { error }),
    ...(links === undefined ? {} : { links }),
    ...(children === undefined ? {} : { children: inOrder(children.map(sorted)) }),
  }
}

/** Spans as spans.json has them: by their parents, in any order. */
function tree(spans) {
  const nameOf = new Map(spans.map((span) => [idOf(span), span.name]))
  const node = (span) => {
    const values = Object.entries(span.attributes).filter(([name]) => !UNSTABLE.includes(name))
    const attributes = Object.fromEntries(values.map(([name, value]) => [name, Array.isArray(value) ? value.join(',') : value]))
    const found = { name: span.name, kind: SpanKind[span.kind].toLowerCase(), attributes }
    if (span.status.code === SpanStatusCode.ERROR) found.error = span.status.message ?? ''
    if (span.links.length > 0) found.links = span.links.map((link) => nameOf.get(link.context.spanId))
    const children = spans.filter((other) => parentOf(other) === idOf(span)).map(node)
    return children.length > 0 ? { ...found, children } : found
  }
  return inOrder(spans.filter((span) => !nameOf.has(parentOf(span))).map(node).map(sorted))
}

const named = (name) => exporter.getFinishedSpans().find((span) => span.name.startsWith(name))

beforeEach(() => exporter.reset())

describe('spans of scenarios', () => {
  test('are found', () => assert.ok(names.length >= 10))
  for (const name of names) {
    test(name, async () => {
      const scenario = read(name, 'scenario.json')
      await play({ ...scenario, options: { ...scenario.options, traces: provider } })
      assert.deepEqual(tree(exporter.getFinishedSpans()), inOrder(read(name, 'spans.json').map(sorted)))
    })
  }
})

function looking(execute, options = {}, own = {}) {
  const script = [
    [{ delta: { tool_call: { id: 'c', name: 'look', arguments: {} } } }, { end: { stop_reason: 'tool_use' } }],
    [{ delta: 'Done.' }, { end: { stop_reason: 'stop' } }],
  ]
  const look = tool({ name: 'look', description: 'Looks.', parameters: { type: 'object' }, execute, ...own })
  return new Agent({ model: { provider: 'scripted', id: 's', script }, tools: [look], traces: true, ...options })
}

test('spans join the trace of the host, and a tool runs in its span', async () => {
  const tracer = trace.getTracer('test')
  const agent = looking(async () => {
    await null
    tracer.startSpan('inside').end()
    return 'seen'
  })
  const outside = tracer.startSpan('outside')
  await context.with(trace.setSpan(context.active(), outside), () => agent.prompt('go'))
  outside.end()
  for (const [inner, outer] of [
    ['inside', 'execute_tool look'],
    ['execute_tool', 'invoke_agent'],
    ['chat s', 'invoke_agent'],
    ['invoke_agent', 'outside'],
  ]) {
    assert.equal(parentOf(named(inner)), idOf(named(outer)), inner)
  }
})

test('runs at once have traces of their own', async () => {
  const run = () => looking(() => new Promise((resolve) => setTimeout(() => resolve('seen'), 5))).prompt('go')
  await Promise.all(Array.from({ length: 5 }, run))
  const traces = new Map()
  for (const span of exporter.getFinishedSpans()) {
    const { traceId } = span.spanContext()
    traces.set(traceId, [...(traces.get(traceId) ?? []), span])
  }
  assert.deepEqual([...traces.values()].map((spans) => [tree(spans).length, spans.length]), Array(5).fill([1, 4]))
})

test('a run joins the trace of a request', async () => {
  for await (const _ of looking(() => 'seen').stream('go', { traceparent: REMOTE }));
  const root = named('invoke_agent')
  assert.equal(root.spanContext().traceId, '4bf92f3577b34da6a3ce929d0e0e4736')
  assert.deepEqual([parentOf(root), root.parentSpanContext.isRemote], ['00f067aa0ba902b7', true])
})

test('a resumed run is linked to the one that was suspended', async () => {
  const agent = looking(() => 'seen', {}, { needsApproval: true })
  assert.equal((await agent.prompt('go')).outcome, 'suspended')
  await agent.resume({ decisions: { c: 'approve' } })
  const [first, second] = exporter.getFinishedSpans().filter((span) => span.name === 'invoke_agent')
  assert.deepEqual(second.links.map((link) => link.context.spanId), [idOf(first)])
})

test('content is recorded only when it is asked for', async () => {
  for (const traceContent of [false, true]) {
    exporter.reset()
    await looking(() => 'a secret result', { traceContent }).prompt('a secret question')
    const text = JSON.stringify(exporter.getFinishedSpans().map((span) => span.attributes))
    assert.deepEqual([text.includes('a secret result'), text.includes('a secret question')], [traceContent, traceContent])
  }
})

test('measurements', async () => {
  await looking(() => 'seen', { agentName: 'measured' }).prompt('go')
  await reader.forceFlush()
  const last = exportedMetrics.getMetrics().at(-1)
  const found = new Map(last.scopeMetrics.flatMap(({ metrics }) => metrics.map((one) => [one.descriptor.name, one])))
  const duration = found.get('gen_ai.client.operation.duration')
  assert.equal(duration.descriptor.unit, 's')
  assert.deepEqual(duration.dataPoints[0].value.buckets.boundaries.slice(0, 3), [0.01, 0.02, 0.04])
  const points = found.get('gen_ai.invoke_agent.duration').dataPoints
  const mine = points.filter(({ attributes }) => attributes['gen_ai.agent.name'] === 'measured')
  assert.deepEqual(mine.map(({ value }) => value.count), [1])
})

test('one model call has spans, too', async () => {
  const model = { provider: 'scripted', id: 's', script: [[{ delta: 'Done.' }, { end: { stop_reason: 'stop' } }]] }
  await complete(model, 'go', { traces: provider })
  assert.deepEqual(tree(exporter.getFinishedSpans()).map(({ name }) => name), ['invoke_agent'])
})

test('what is no tracer provider is refused', () => {
  const message = /^option "traces": expected true or false, or a tracer provider of OpenTelemetry, got /
  assert.throws(() => looking(() => 'seen', { traces: 'http://localhost:4318' }), { kind: 'invalid_argument', message })
})

// The programs of docs/integrations.md, as they stand there; only the model, the port and the server of MCP are others.

import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { test } from 'node:test'
import { fileURLToPath, pathToFileURL } from 'node:url'

import { features, written as writtenProgram } from './documentation.mjs'

const here = (path) => fileURLToPath(new URL(path, import.meta.url))

const programs = features('integrations.md')

/** Writes a program of the page; returns its path. */
const written = (context, title, replaced, before) => writtenProgram(context, programs.get(title).program, replaced, before)

/** What replaces the model's name: the model of the page. */
const scripted = (title) => ["'anthropic/claude-sonnet-4-5'", JSON.stringify(JSON.parse(programs.get(title).model))]

function output(path) {
  const { status, stdout, stderr } = spawnSync(process.execPath, [path], { encoding: 'utf8', timeout: 60_000 })
  assert.deepEqual([status, stderr], [0, ''])
  return stdout
}

test('each program is tested', () => {
  const titles = ['A web server with Express', 'Traces with OpenTelemetry', 'Tools of an MCP server']
  assert.deepEqual([...programs.keys()], titles)
})

test('a web server with Express', async (context) => {
  globalThis.provider = async function* ({ messages }, { signal }) {
    for (let i = 0; messages.at(-1).content[0].text !== 'Hello.' && !signal.aborted; i++) {
      yield `word ${i} `
      await new Promise((resolve) => setTimeout(resolve, 2))
    }
    yield `Hello ${messages.length}.`
  }
  const path = written(context, 'A web server with Express', [
    ["'anthropic/claude-sonnet-4-5'", "'own/model', provider: globalThis.provider"],
    ['app.listen(3000)', "export const server = app.listen(0, '127.0.0.1')\nexport { conversations }"],
  ])
  const { server, conversations } = await import(pathToFileURL(path))
  context.after(() => server.close())
  await once(server, 'listening')
  const post = (conversation, text, signal) =>
    fetch(`http://127.0.0.1:${server.address().port}/chat/${conversation}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ text }),
      signal,
    })

  for (const count of [1, 3]) {
    const response = await post('a', 'Hello.')
    const text = await response.text()
    const all = (pattern) => [...text.matchAll(pattern)].map(([, match]) => match)
    const events = all(/^data: (.*)$/gm).map((data) => JSON.parse(data))
    assert.match(response.headers.get('content-type'), /^text\/event-stream/)
    assert.deepEqual(all(/^event: (.*)$/gm), events.map(({ type }) => type))
    assert.deepEqual([events[0].type, events.at(-1).type], ['agent_start', 'agent_end'])
    assert.deepEqual(events.filter(({ type }) => type === 'text_delta').map(({ delta }) => delta), [`Hello ${count}.`])
    assert.equal(conversations.get('a').length, count + 1)
  }

  const controller = new AbortController()
  const { body } = await post('b', 'Talk.', controller.signal)
  let received = ''
  for await (const bytes of body) {
    received += Buffer.from(bytes).toString()
    if (received.includes('event: text_delta')) break
  }
  controller.abort()
  // Far longer than it takes, so that a failure ends.
  for (let i = 0; i < 2000 && !conversations.has('b'); i++) await new Promise((resolve) => setTimeout(resolve, 5))
  const [, kept] = conversations.get('b')
  assert.equal(kept.stopReason, 'aborted')
  assert.match(kept.content[0].text, /^word 0 /)
})

test('traces with OpenTelemetry', (context) => {
  const title = 'Traces with OpenTelemetry'
  const sdk = `
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks'
import { BasicTracerProvider, InMemorySpanExporter, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-base'
import { context } from '@opentelemetry/api'

const exporter = new InMemorySpanExporter()
context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable())
trace.setGlobalTracerProvider(new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] }))
process.on('exit', () => {
  const spans = exporter.getFinishedSpans()
  const run = spans.at(-1).spanContext().spanId
  for (const { name, attributes, parentSpanContext: parent } of spans) {
    const [input, output] = ['input', 'output'].map((which) => attributes[\`gen_ai.usage.\${which}_tokens\`])
    console.log(input === undefined ? name : \`\${name}: \${input} in, \${output} out\`)
    if (parent?.spanId !== (name === 'invoke_agent' ? undefined : run)) console.log('its parent is wrong')
  }
})
`
  assert.equal(output(written(context, title, [scripted(title)], sdk)), programs.get(title).output)
})

test('tools of an MCP server', (context) => {
  const title = 'Tools of an MCP server'
  const server = `{ command: process.execPath, args: [${JSON.stringify(here('mcp-server.mjs'))}] }`
  const path = written(context, title, [scripted(title), ["{ command: 'npx', args: ['my-mcp-server'] }", server]])
  assert.equal(output(path), programs.get(title).output)
})

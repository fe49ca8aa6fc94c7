// The example's relay, in front of a mock model server.

import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { test } from 'node:test'

import { Agent } from 'agent-loop'

import { does, mock, projectFolder } from './helpers.mjs'

const MODEL = 'anthropic/claude-sonnet-4-5'

/** Starts a relay to the model at an address; returns the relay's address. */
async function relay(test, address, model = MODEL) {
  const program = join(projectFolder, 'examples', 'node', 'relay.mjs')
  const modules = join(projectFolder, 'examples', 'node', 'node_modules', 'agent-loop')
  assert.ok(existsSync(modules), `${modules} is missing: the relay cannot import agent-loop; run bindings/node/develop.sh`)
  const environment = { AGENT_RELAY_TOKEN: 'token', ANTHROPIC_API_KEY: 'key-behind-the-relay' }
  const server = spawn(process.execPath, [program, '--port', '0', model, address], {
    env: { ...process.env, ...environment },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  test.after(() => server.kill())
  const ended = once(server, 'exit').then(([code]) => assert.fail(`the relay ended with ${code} before it listened`))
  const [line] = await Promise.race([once(server.stdout, 'data'), ended])
  ended.catch(() => {}) // It ends after the test.
  return String(line).trim()
}

/** A client of it. */
const client = (baseUrl, options = {}) =>
  new Agent({ model: `relay/${MODEL}`, baseUrl, apiKey: 'token', retryBaseMs: 1, ...options })

/** The requests that the mock has had. */
const asked = async (address) => (await fetch(`${address}/__requests`)).json()

test('a conversation through a relay: tools run at the client, and signed content returns to its provider', async (t) => {
  const thought = [
    { type: 'thinking', thinking: 'a city', signature: 'c2lnbmVk' },
    { type: 'redacted_thinking', data: 'aGlkZGVu' },
    { type: 'text', text: 'Let me see.' },
    { type: 'tool_call', id: 'toolu_1', name: 'weather', arguments: { city: 'Oslo' } },
  ]
  const usage = { input: 60, output: 12 }
  const address = await mock(t, [
    { strict: true, body: { message: { content: thought, stop_reason: 'tool_use', usage } } },
    { strict: true, body: { message: { text: 'It rains.', usage: { input: 90, output: 5 } } } },
  ])
  const places = []
  const weather = does('weather', ({ city }) => `rain in ${places.push(city) && city}`, {
    parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
  })
  const agent = client(await relay(t, address), {
    tools: [weather],
    systemPrompt: 'Be brief.',
    thinkingLevel: 'low',
    maxTokens: 4000,
  })
  const types = []
  agent.subscribe(({ type }) => types.push(type))
  const result = await agent.prompt('Rain in Oslo?')

  assert.deepEqual([result.text, result.outcome, places], ['It rains.', 'completed', ['Oslo']])
  assert.ok(types.includes('thinking_delta') && types.includes('text_delta') && types.includes('tool_call_delta'))
  const [first] = agent.messages.filter((message) => message.role === 'assistant')
  assert.deepEqual([first.provider, first.protocol, first.model], ['relay', 'relay', MODEL])
  assert.deepEqual(
    [first.stopReason, first.rawStopReason, first.usage.input, first.usage.output],
    ['tool_use', 'tool_use', 60, 12],
  )
  assert.deepEqual(first.content, [
    { type: 'thinking', thinking: 'a city', signature: 'c2lnbmVk' },
    { type: 'thinking', thinking: '', signature: 'aGlkZGVu', redacted: true },
    { type: 'text', text: 'Let me see.' },
    { type: 'tool_call', id: 'toolu_1', name: 'weather', arguments: { city: 'Oslo' } },
  ])

  const [one, two] = (await asked(address)).map(({ body }) => (typeof body === 'string' ? JSON.parse(body) : body))
  assert.deepEqual([one.model, one.max_tokens, one.thinking.type], ['claude-sonnet-4-5', 4000, 'enabled'])
  assert.match(JSON.stringify(one.system), /Be brief/)
  const sentBack = two.messages.find((message) => message.role === 'assistant').content
  assert.deepEqual(sentBack.map(({ type }) => type), ['thinking', 'redacted_thinking', 'text', 'tool_use'])
  assert.deepEqual([sentBack[0].signature, sentBack[1].data, sentBack[3].id], ['c2lnbmVk', 'aGlkZGVu', 'toolu_1'])
  assert.match(JSON.stringify(two.messages.at(-1)), /rain in Oslo/)
})

test("the server's errors pass unchanged, and only the client retries", async (t) => {
  const address = await mock(t, [
    { body: { error: 'overloaded' } },
    { body: { message: { text: 'here' } } },
    { body: { error: 'authentication' } },
  ])
  const base = await relay(t, address)
  const retries = []
  const agent = client(base)
  agent.subscribe((event) => void (event.type === 'retry' && retries.push(event.error.kind)))
  assert.equal((await agent.prompt('go')).text, 'here')
  assert.deepEqual(retries, ['overloaded'])
  await assert.rejects(client(base).prompt('go'), { name: 'AuthenticationError', provider: 'anthropic', httpStatus: 401 })
  assert.equal((await asked(address)).length, 3)
})

test('an abort at the client ends the request behind the relay', async (t) => {
  const chunk = { choices: [{ index: 0, delta: { content: 'Once' }, finish_reason: null }] }
  let gone
  const upstream = createServer((request, response) => {
    request.resume()
    gone = once(response, 'close')
    response.writeHead(200, { 'content-type': 'text/event-stream' }).write(`data: ${JSON.stringify(chunk)}\n\n`)
  })
  upstream.listen(0, '127.0.0.1')
  t.after(() => upstream.close())
  await once(upstream, 'listening')
  const base = await relay(t, `http://127.0.0.1:${upstream.address().port}`, 'openai-compatible/m')
  const run = client(base, { model: 'relay/openai-compatible/m' }).stream('Tell me more.')
  for await (const event of run) if (event.type === 'text_delta') run.abort()
  assert.deepEqual([(await run.result()).outcome, (await run.result()).text], ['aborted', 'Once'])
  await gone
})

test('a refused client gets the reason', async (t) => {
  const base = await relay(t, await mock(t, []))
  await assert.rejects(client(base, { apiKey: 'another-token' }).prompt('go'), {
    name: 'AuthenticationError',
    message: `relay at ${new URL(base).host} answered 401: the token is wrong; it is the AGENT_RELAY_TOKEN of the relay`,
  })
  await assert.rejects(client(base, { model: 'relay/openai/gpt-5' }).prompt('go'), {
    name: 'NotFoundError',
    message: `relay at ${new URL(base).host} answered 404: there is no model openai/gpt-5 here, only ${MODEL}`,
  })
  const model = { provider: 'anthropic', id: 'claude-sonnet-4-5' }
  const messages = [{ role: 'user', content: 'hi' }]
  for (const [body, text] of [
    ['{', /JSON/],
    [JSON.stringify({ model }), /nothing to resume/],
    [JSON.stringify({ model, context: { messages: [{ role: 'user' }] } }), /content is missing/],
    [
      JSON.stringify({ model, context: { messages }, options: { temperature: 'hot' } }),
      /option "temperature": expected a number/,
    ],
  ]) {
    const answer = await fetch(`${base}/api/stream`, { method: 'POST', headers: { authorization: 'Bearer token' }, body })
    assert.equal(answer.status, 400)
    assert.match((await answer.json()).error.message, text)
  }
})

test('a client cannot have its requests, and the key, sent elsewhere', async (t) => {
  const address = await mock(t, [{ body: { message: { text: 'here' } } }])
  const base = await relay(t, address)
  const model = { provider: 'anthropic', id: 'claude-sonnet-4-5', baseUrl: 'http://127.0.0.1:1' }
  const options = { base_url: 'http://127.0.0.1:1', baseUrl: 'http://127.0.0.1:1', headers: { host: 'x' } }
  const body = JSON.stringify({ model, context: { messages: [{ role: 'user', content: 'hi' }] }, options })
  const answer = await fetch(`${base}/api/stream`, { method: 'POST', headers: { authorization: 'Bearer token' }, body })
  assert.match(await answer.text(), /"delta":"here"/)
  assert.equal((await asked(address)).length, 1)
})

test('the model of a relay may be JSON', async (t) => {
  const address = await mock(t, [{ strict: true, body: { message: { text: 'here' } } }])
  const [provider, id] = MODEL.split('/')
  const base = await relay(t, address, JSON.stringify({ provider, id }))
  assert.equal((await client(base).prompt('hi')).text, 'here')
})

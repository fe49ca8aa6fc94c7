// Errors: the classes, and failures of a server or connection.

import assert from 'node:assert/strict'
import { test } from 'node:test'

import * as all from 'agent-loop'

import { chatFrames, mock, moduleOf, play, program } from './helpers.mjs'

const { Agent, AgentError } = all
const { native } = moduleOf('native')
const { errorOf } = moduleOf('errors')

test('every kind of error has its class', () => {
  const classes = native.errorClasses()
  assert.ok(Object.keys(classes).length >= 23)
  for (const [kind, name] of Object.entries(classes)) {
    const error = errorOf({ kind, message: 'm', retryable: true })
    assert.ok(error instanceof all[name] && error instanceof AgentError && error instanceof Error, kind)
    assert.deepEqual([error.name, error.kind, error.code, error.retryable, String(error)], [name, kind, kind, true, `${name}: m`])
  }
})

/** The error that a prompt to this server ends with. */
async function failure(url, model = 'openai/tiny', options = {}) {
  const agent = new Agent({ model, baseUrl: url, apiKey: 'sk-secret', ...options })
  return agent.prompt('go').then(assert.fail, (error) => error)
}

test("a refused key reports the provider's message without the key", async (t) => {
  const body = {
    type: 'error',
    error: { type: 'authentication_error', message: 'invalid x-api-key: sk-secret' },
    request_id: 'req_7',
  }
  const url = await mock(t, [{ status: 401, body: { json: body } }])
  const error = await failure(url, 'anthropic/tiny')
  assert.ok(error instanceof all.AuthenticationError)
  assert.equal(error.message, `anthropic at ${new URL(url).host} answered 401: invalid x-api-key: [key]`)
  const { kind, code, httpStatus, requestId, provider, retryable, retryAfterMs, result } = error
  assert.deepEqual(
    { kind, code, httpStatus, requestId, provider, retryable, retryAfterMs },
    {
      kind: 'authentication',
      code: 'authentication',
      httpStatus: 401,
      requestId: 'req_7',
      provider: 'anthropic',
      retryable: false,
      retryAfterMs: undefined,
    },
  )
  assert.deepEqual([result.outcome, result.error.httpStatus, result.message.stopReason], ['error', 401, 'error'])
  assert.ok(!JSON.stringify(error).includes('sk-secret'))
})

test('a server that does not exist', async () => {
  // The port of tcpmux, which is unused: a port that was free a moment ago may be another test's by now.
  const port = 1
  const error = await failure(`http://127.0.0.1:${port}`)
  assert.ok(error instanceof all.ConnectionError)
  assert.equal(
    error.message.replace(/\(os error \d+\)/, '(…)'),
    `cannot connect to http://127.0.0.1:${port}/v1/chat/completions: Connection refused (…); is the server running there?`,
  )
  assert.equal(error.retryable, true)
})

test('a truncated stream is an error and keeps what was received', async (t) => {
  const { body } = chatFrames('half', ' of it', ' and the rest')
  const url = await mock(t, [{ body, cut_after: 2 * body.indexOf('\n\n') + 10 }])
  const agent = new Agent({ model: 'openai/tiny', baseUrl: url })
  const run = agent.stream('go')
  const events = await play(run)
  assert.ok(events.some((event) => event.type === 'text_delta' && event.delta === 'half'))
  const error = await run.result().then(assert.fail, (error) => error)
  assert.ok(error instanceof all.StreamTruncatedError)
  assert.match(error.message, /^the connection to 127\.0\.0\.1 broke in the middle of the answer: /)
  assert.equal(error.result.text, 'half of it')
})

test('a missing key names its variable', async () => {
  const text = `
    import { Agent } from 'agent-loop'
    const agent = new Agent({ model: 'anthropic/claude-sonnet-4-5' })
    await agent.prompt('go').catch((error) => console.log(error.kind, error.message))`
  const { output } = await program(text, { environment: { ANTHROPIC_API_KEY: '' } })
  assert.equal(
    output,
    'authentication no API key for anthropic: set the environment variable ANTHROPIC_API_KEY, or give api_key\n',
  )
})

test('options reach the server', async (t) => {
  const url = await mock(t, [chatFrames('ok'), chatFrames('ok')])
  for (const baseUrl of [url, `${url}/v1`]) {
    const agent = new Agent({
      model: 'company/tiny',
      baseUrl,
      apiKey: 'sk-1',
      systemPrompt: 'Be brief.',
      temperature: 0,
      maxTokens: 64,
      headers: { 'x-team': 'blue' },
    })
    assert.equal((await agent.prompt('Hi', { headers: { 'x-traceId': '7' } })).text, 'ok')
  }
  for (const { path, headers, body } of await (await fetch(`${url}/__requests`)).json()) {
    assert.deepEqual([path, headers.authorization], ['/v1/chat/completions', 'Bearer sk-1'])
    assert.deepEqual([headers['x-team'], headers['x-traceid']], ['blue', '7'])
    assert.deepEqual([body.temperature, body.messages[0]], [0, { role: 'system', content: 'Be brief.' }])
    assert.equal(body.max_tokens ?? body.max_completion_tokens, 64)
  }
})

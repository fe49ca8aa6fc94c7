// Custom providers: requests, chunks, failures, backpressure.

import assert from 'node:assert/strict'
import { test } from 'node:test'

import { Agent, OverloadedError, ProviderError, QuotaError } from 'agent-loop'
import { checkEvents } from 'agent-loop/testing'

import { does, play, toolTexts } from './helpers.mjs'

const custom = (provider, options = {}) => new Agent({ model: 'acme/my-model', provider, ...options })

test('found_e10_custom_providers_and_known_ones_are_mixed', async () => {
  async function* mine(request) {
    yield `mine: ${request.model}`
  }
  async function* tired() {
    throw new QuotaError('no more')
  }
  const script = (answer) => ({ provider: 'scripted', id: 's', script: [[answer, { end: {} }]] })
  const broken = script({ error: { kind: 'quota', message: 'pay first' } })
  const spare = script({ delta: 'From a script.' })
  const text = async (options) => (await new Agent(options).prompt('go')).text
  const providers = { mine, tired }
  assert.equal(await text({ model: broken, providers, fallbacks: ['tired/a', 'mine/b'] }), 'mine: mine/b')
  assert.equal(await text({ model: 'tired/a', providers, fallbacks: [spare] }), 'From a script.')
  // The one without a name is for the agent's own model: another vendor's is asked there.
  assert.equal(await text({ model: 'openai/a', provider: tired, fallbacks: [spare] }), 'From a script.')
  assert.equal(await text({ model: 'openai/a', provider: mine }), 'mine: openai/a')
})

test('found_e10_providers_are_set_and_removed', async () => {
  async function* mine(request) {
    yield `mine: ${request.model}`
  }
  const agent = custom(mine)
  agent.setProvider('mine', mine)
  agent.model = 'mine/a'
  agent.setProvider(null, null)
  assert.equal((await agent.prompt('go')).text, 'mine: mine/a')
  assert.throws(() => agent.setProvider('mine', null), /unknown provider/)
  assert.equal((await agent.prompt('go')).text, 'mine: mine/a')
  agent.setProvider('never', null)
  for (const name of ['', 'a/b']) assert.throws(() => agent.setProvider(name, mine), /expected a name without a slash/)
  assert.throws(() => agent.setProvider(5, mine), { code: 'invalid_argument' })
  assert.throws(() => agent.setProvider('x', 5), { code: 'invalid_argument' })
  for (const providers of [{ mine: 5 }, 5, { '': mine }, { 'a/b': mine }]) {
    assert.throws(() => new Agent({ model: 'mine/a', provider: mine, providers }), { code: 'invalid_argument' })
  }
})

test('a generator answers', async () => {
  const agent = custom(async function* () {
    yield 'Hel'
    yield { text: 'lo' }
    yield { end: { stopReason: 'stop', rawStopReason: 'fin', responseId: 'r1', usage: { input: 3, output: 2, cacheRead: 1 } } }
  })
  const events = await play(agent.stream('go'))
  checkEvents(events)
  const message = agent.messages[1]
  assert.deepEqual(
    [
      message.content,
      message.provider,
      message.protocol,
      message.model,
      message.stopReason,
      message.rawStopReason,
      message.responseId,
    ],
    [[{ type: 'text', text: 'Hello' }], 'acme', 'acme', 'my-model', 'stop', 'fin', 'r1'],
  )
  assert.deepEqual([message.usage.input, message.usage.output, message.usage.cacheRead], [3, 2, 1])
})

test('any iterable of chunks is accepted', async () => {
  for (const provider of [
    function* () {
      yield 'Hi'
    },
    () => ['Hi'],
    async () => ['H', 'i'],
    () => ({
      [Symbol.asyncIterator]: () => ({
        done: false,
        async next() {
          return this.done ? { done: true } : ((this.done = true), { value: 'Hi', done: false })
        },
      }),
    }),
  ]) {
    assert.equal((await custom(provider).prompt('go')).text, 'Hi')
  }
})

test('blocks, thinking and calls, complete or in chunks', async () => {
  const answers = [
    [
      { thinking: 'Hm' },
      { toolCall: { id: 'a', name: 't', arguments: { some_name: 1 } } },
      { type: 'tool_call_start', contentIndex: 7, id: 'b', name: 't' },
      { type: 'tool_call_delta', contentIndex: 7, delta: '{"some_name":' },
      { type: 'tool_call_delta', contentIndex: 7, delta: '2}' },
      { type: 'tool_call_end', contentIndex: 7 },
    ],
    [{ diagnostic: { code: 'odd', message: 'something odd', data: { a_b: 1 } } }, 'done'],
  ]
  const agent = custom(() => answers.shift(), { tools: [does('t', (args) => args)] })
  const events = await play(agent.stream('go'))
  checkEvents(events)
  assert.deepEqual(toolTexts({ messages: agent.messages }), [['{"some_name":1}', false], ['{"some_name":2}', false]])
  assert.deepEqual(events.find((event) => event.type === 'diagnostic').data, { a_b: 1 })
  assert.equal(agent.messages[1].content[0].thinking, 'Hm')
})

test('the request of a provider', async () => {
  let request
  let signal
  const agent = custom(
    async function* (asked, context) {
      request = asked
      signal = context.signal
      yield 'ok'
    },
    {
      systemPrompt: 'Be brief.',
      tools: [does('t', () => 1, { parameters: { type: 'object', properties: { a_b: { type: 'string' } } } })],
      thinkingLevel: 'low',
      thinkingBudgets: { low: 100 },
      temperature: 0,
      maxTokens: 10,
      stopSequences: ['END'],
      toolChoice: { tool: 't' },
      sessionId: 's1',
      extraBody: { camelCase: { under_score: 1 } },
      hostedTools: [{ type: 'web_search', userLocation: { under_score: 1 } }],
      headers: { 'x-some_name': 'v' },
      apiKey: 'secret',
    },
  )
  await agent.prompt('go')
  const { model, systemPrompt, messages, tools, thinkingLevel, options } = request
  assert.deepEqual(
    [model, systemPrompt, thinkingLevel, messages.length, messages[0].content[0].text],
    ['acme/my-model', 'Be brief.', 'low', 1, 'go'],
  )
  assert.deepEqual(tools, [
    { name: 't', description: 'Does t.', parameters: { type: 'object', properties: { a_b: { type: 'string' } } } },
  ])
  assert.deepEqual(options, {
    temperature: 0,
    maxTokens: 10,
    stopSequences: ['END'],
    toolChoice: { tool: 't' },
    sessionId: 's1',
    thinkingBudgets: { minimal: 1024, low: 100, medium: 8192, high: 16384, xhigh: 32768 },
    extraBody: { camelCase: { under_score: 1 } },
    hostedTools: [{ type: 'web_search', userLocation: { under_score: 1 } }],
    headers: { 'x-some_name': 'v' },
  })
  assert.ok(signal instanceof AbortSignal && !signal.aborted)
  assert.match(JSON.stringify(request), /^\{"model":"acme\/my-model","system_prompt":.*"max_tokens":10/)
  assert.match(JSON.stringify(request), /"extra_body":\{"camelCase":\{"under_score":1\}\}/)
  assert.doesNotMatch(JSON.stringify(request), /secret/)
})

test('a provider that throws ends the message with an error', async () => {
  for (const [provider, expected] of [
    [
      async function* () {
        yield 'a'
        throw new Error('out of paper')
      },
      { kind: 'provider', message: 'out of paper' },
    ],
    [
      () => {
        throw new TypeError('immediately')
      },
      { kind: 'provider', message: 'immediately' },
    ],
    [
      async () => {
        throw 'text'
      },
      { kind: 'provider', message: 'text' },
    ],
    [() => 5, { kind: 'provider', message: 'the provider returned number; expected a generator or another iterable of chunks' }],
    [
      () => undefined,
      { kind: 'provider', message: 'the provider returned undefined; expected a generator or another iterable of chunks' },
    ],
    [() => [10n], { kind: 'provider', message: "the provider's chunk: the BigInt 10n is not JSON" }],
    [
      () => [{ toolCall: { id: 'a', name: 't', args: { n: 1 } } }],
      { kind: 'provider', message: 'chunk: tool_call: unknown field "args"; known are id, name, arguments' },
    ],
    [() => [{ txet: 'x' }], { kind: 'provider', message: /^chunk: unknown field "txet"; known are text, thinking/ }],
    [() => [{ end: { stopReason: 'error' } }], { kind: 'provider', message: /^chunk: end: a stopReason of "error"/ }],
    [
      () => [{ error: new QuotaError({ kind: 'quota', message: 'no money', retryable: false }) }],
      { kind: 'quota', message: 'no money' },
    ],
    [
      () => [{ error: { kind: 'quota', message: 'no money', httpStatus: 402 } }],
      { kind: 'quota', httpStatus: 402, message: 'no money' },
    ],
  ]) {
    const agent = custom(provider, { maxRetries: 0 })
    await assert.rejects(agent.prompt('go'), { provider: 'acme', ...expected })
    assert.equal(agent.messages.at(-1).stopReason, 'error')
  }
})

test('an AgentError keeps its kind, and is retried if it is retryable', async () => {
  let tries = 0
  const flaky = custom(
    () => {
      if (++tries === 1) throw new OverloadedError({ kind: 'overloaded', message: 'busy', retryable: true })
      return ['better']
    },
    { retryBaseMs: 1 },
  )
  assert.equal((await flaky.prompt('go')).text, 'better')
  const never = custom(
    () => {
      throw new OverloadedError({ kind: 'overloaded', message: 'busy', retryable: true })
    },
    { maxRetries: 0 },
  )
  await assert.rejects(never.prompt('go'), OverloadedError)
  await assert.rejects(
    custom(() => [], { maxRetries: 0 }).prompt('go'),
    (error) => !(error instanceof ProviderError) && error.kind === 'protocol',
  )
})

test('an abort fires the signal and closes the generator', async () => {
  let closed = false
  let aborted = false
  const agent = custom(async function* (_, { signal }) {
    signal.addEventListener('abort', () => (aborted = true))
    try {
      for (;;) {
        yield 'x'
        await new Promise((resolve) => setImmediate(resolve))
      }
    } finally {
      closed = true
    }
  })
  const run = agent.stream('go')
  for await (const event of run) if (event.type === 'text_delta') run.abort()
  assert.equal((await run.result()).outcome, 'aborted')
  for (let i = 0; i < 100 && !closed; i++) await new Promise((resolve) => setTimeout(resolve, 1))
  assert.deepEqual([closed, aborted], [true, true])
})

test('a provider waits while events are unread', async () => {
  let given = 0
  const agent = custom(function* () {
    while (given < 50_000) yield String(given++ % 10)
  })
  const run = agent.stream('go')
  await run.next()
  await new Promise((resolve) => setTimeout(resolve, 100))
  assert.ok(given < 10_000, `${given} chunks were taken from it`)
  assert.equal((await run.result()).text.length, 50_000, 'and goes on when somebody does')
})

test('a custom provider takes precedence over a known one of the same name', async () => {
  const agent = new Agent({ model: 'anthropic/claude-sonnet-4-5', provider: () => ['mine'] })
  assert.equal((await agent.prompt('go')).text, 'mine')
  assert.equal(agent.messages[1].provider, 'anthropic')
})

test('an answer that is dropped before its end fails', async () => {
  const { setFlagsFromString } = await import('node:v8')
  setFlagsFromString('--expose-gc')
  const gc = (await import('node:vm')).runInNewContext('gc')
  const agent = custom(async function* () { await new Promise(() => {}) })
  const result = agent.prompt('go').catch((error) => error)
  const timer = setInterval(gc, 10)
  assert.equal((await result).message, 'the provider acme dropped the request without ending its answer')
  clearInterval(timer)
})

test('a provider is a function', () => {
  assert.throws(() => custom('x'), {
    name: 'InvalidArgumentError',
    message: 'option "provider": expected a function, got string',
  })
})

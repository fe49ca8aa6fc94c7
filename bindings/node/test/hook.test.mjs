// Hooks: the input and answer of each, failures, contexts.

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { test } from 'node:test'

import { Agent, CallbackError, InvalidStateError } from 'agent-loop'

import { awake, calls, chatFrames, does, mock, moduleOf, play, says, scripted, toolTexts } from './helpers.mjs'

test('there is a hook for each of the core', () => {
  const { native } = moduleOf('native')
  const { HOOKS } = moduleOf('hook')
  const { snakeCase } = moduleOf('canonical')
  assert.deepEqual(HOOKS.map(snakeCase), native.hookNames())
})

test('each hook is called with its input and a context', async () => {
  const seen = []
  const sees = (name) => (...given) => {
    const context = given.pop()
    assert.ok(context.signal instanceof AbortSignal && !context.signal.aborted)
    assert.equal(typeof context.sleep, 'function')
    seen.push([name, ...given.map((input) => JSON.parse(JSON.stringify(input)))])
  }
  const names = [
    'transformContext', 'convertToLlm', 'getApiKey', 'beforeToolCall', 'afterToolCall', 'prepareNextTurn', 'shouldStopAfterTurn',
    'getSteeringMessages', 'getFollowUpMessages', 'onPayload', 'onError', 'beforeRun', 'afterRun',
  ]
  const agent = scripted(
    [calls(['a', 't', { some_name: 1 }]), [{ error: { kind: 'server', message: 'no', retryable: false } }]],
    {
      tools: [does('t', () => ({ content: [{ type: 'text', text: 'it' }], details: { someName: 2 } }))],
      ...Object.fromEntries(names.map((name) => [name, sees(name)])),
    },
  )
  await agent.prompt('go').catch(() => {})
  const first = (name) => seen.find(([called]) => called === name).slice(1)
  const [user, assistant, result] = JSON.parse(JSON.stringify(agent.messages))
  assert.deepEqual(first('beforeRun'), [[user]])
  assert.deepEqual(first('getSteeringMessages'), [])
  assert.deepEqual(first('transformContext'), [[user]])
  assert.deepEqual(first('convertToLlm'), [[user]])
  assert.deepEqual(first('getApiKey'), ['scripted'])
  const [payload] = first('onPayload')
  assert.deepEqual([payload.provider, payload.model, payload.payload.messages], ['scripted', 's', [user]])
  const call = { tool_call_id: 'a', tool_name: 't', arguments: { some_name: 1 } }
  assert.deepEqual(first('beforeToolCall'), [{ ...call, message: assistant }])
  const output = { content: [{ type: 'text', text: 'it' }], details: { someName: 2 }, terminate: false }
  assert.deepEqual(first('afterToolCall'), [{ ...call, result: output, is_error: false }])
  const turn = [{ turn: 1, message: assistant, tool_results: [result] }]
  assert.deepEqual([first('prepareNextTurn'), first('shouldStopAfterTurn')], [turn, turn])
  const error = { kind: 'server', message: 'no', provider: 'scripted', retryable: false }
  assert.deepEqual(first('onError'), [{ error, attempt: 1, will_retry: false }])
  assert.deepEqual([first('afterRun')[0].outcome, first('afterRun')[0].messages.length], ['error', 4])
})

test('found_r3_a_hook_cannot_change_its_input_in_place', async () => {
  const texts = async (hooks) => {
    const tools = [does('t', ({ n }) => `got ${n}`)]
    return toolTexts(await scripted([calls(['a', 't', { n: 1 }]), says('x')], { tools, ...hooks }).prompt('go'))
  }
  for (const hooks of [
    { beforeToolCall: (call) => void (call.arguments.n = 2) },
    { beforeToolCall: (call) => void (call.arguments = { n: 2 }) },
    { afterToolCall: ({ result }) => void result.content.push({ type: 'text', text: 'more' }) },
    { middleware: [(call, next) => ((call.arguments.n = 2), next())] },
  ]) {
    const [[text, isError]] = await texts(hooks)
    assert.ok(isError && /read only property|not extensible/.test(text), text)
  }
  assert.deepEqual(await texts({ beforeToolCall: (call) => ({ arguments: { ...call.arguments, n: 2 } }) }), [['got 2', false]])
  // What is large may be changed and returned.
  const seen = []
  const agent = scripted([says('x')], {
    transformContext: (messages) => (messages.push({ role: 'user', content: 'more' }), messages),
    onPayload: ({ payload }) => (seen.push(payload.messages.length), (payload.temperature = 1), payload),
  })
  assert.equal((await agent.prompt('go')).outcome, 'completed')
  assert.deepEqual(seen, [2])
})

test('names of the contract are in camel case, those of the user unchanged', async () => {
  let call
  let after
  const note = { role: 'note', some_name: 1 }
  const seen = []
  const agent = scripted([calls(['a', 't', { some_name: 1 }]), says('x')], {
    messages: [note],
    tools: [does('t', () => 'it')],
    transformContext: (messages) => void seen.push(messages[0]),
    beforeToolCall: (input) => void (call = input),
    afterToolCall: (input) => void (after = input),
  })
  await agent.prompt('go')
  assert.deepEqual(
    [call.toolCallId, call.toolName, call.arguments, call.message.stopReason],
    ['a', 't', { some_name: 1 }, 'tool_use'],
  )
  assert.deepEqual([after.isError, after.result.terminate], [false, false])
  assert.deepEqual(seen[0], note)
})

test('onResponse gets status and headers', async (t) => {
  const url = await mock(t, [{ ...chatFrames('hi'), headers: { 'X-Some-Name': 'yes' } }])
  let head
  const agent = new Agent({ model: 'company/tiny', baseUrl: url, onResponse: (given) => void (head = given) })
  await agent.prompt('go')
  assert.deepEqual([head.provider, head.status, head.headers['x-some-name']], ['company', 200, 'yes'])
})

/** What a mock server was asked. */
const requestsTo = async (url) => (await fetch(`${url}/__requests`)).json()

/** The messages of each request of these answers, in short. */
async function requests(script, options) {
  const seen = []
  const agent = scripted(script, {
    ...options,
    onPayload: async ({ payload }) => void seen.push(payload.messages.map((m) => m.content.map((block) => block.text).join(''))),
  })
  const result = await agent.prompt('go')
  return { seen, result, agent }
}

test('transformContext changes messages for the model only', async () => {
  const { seen, agent } = await requests([says('a')], {
    messages: [{ role: 'note', text: 'remember' }],
    transformContext: async (messages, { sleep }) => {
      await sleep(60_000)
      return [{ role: 'user', content: 'first' }, ...messages]
    },
    convertToLlm: (messages) =>
      messages.map((message) => (message.role === 'note' ? { role: 'user', content: message.text.toUpperCase() } : message)),
  })
  // Repair merges nothing here: the scripted model takes messages as they are.
  assert.deepEqual(seen, [['first', 'REMEMBER', 'go']])
  assert.deepEqual(agent.messages.map((message) => message.role), ['note', 'user', 'assistant'])
})

test('the key of a hook is sent', async (t) => {
  const url = await mock(t, [chatFrames('hi')])
  const agent = new Agent({
    model: 'company/tiny',
    baseUrl: url,
    getApiKey: async (provider) => (provider === 'company' ? 'from-hook' : null),
  })
  await agent.prompt('go')
  const [request] = await requestsTo(url)
  assert.equal(request.headers.authorization, 'Bearer from-hook')
})

test('found_e9_empty_key: an empty key is no answer', async (t) => {
  for (const answer of ['', ' \n\t', null, undefined, {}, { bearer: '' }, { headers: {} }]) {
    const url = await mock(t, [chatFrames('hi')])
    const agent = new Agent({ model: 'company/tiny', baseUrl: url, apiKey: 'configured', getApiKey: () => answer })
    await agent.prompt('go')
    const [request] = await requestsTo(url)
    assert.equal(request.headers.authorization, 'Bearer configured')
  }
})

test('found_w13_forms: a token or headers', async (t) => {
  const sent = async (answer) => {
    const url = await mock(t, [{ status: 401, body: { json: { error: { message: 'not sk-hook' } } } }])
    const model = { provider: 'company', id: 'tiny', protocol: 'anthropic', baseUrl: url }
    const agent = new Agent({ model, apiKey: 'configured', maxRetries: 0, getApiKey: async () => answer })
    const error = await agent.prompt('go').catch((error) => error)
    assert.ok(!`${error.stack} ${JSON.stringify(error)}`.includes('sk-hook'), error)
    return (await requestsTo(url))[0].headers
  }
  assert.equal((await sent('sk-hook'))['x-api-key'], 'sk-hook')
  const ofToken = await sent({ bearer: 'sk-hook' })
  assert.deepEqual([ofToken.authorization, ofToken['x-api-key']], ['Bearer sk-hook', undefined])
  const ofHeaders = await sent({ headers: { 'x-company': 'sk-hook' } })
  assert.deepEqual([ofHeaders['x-company'], ofHeaders['x-api-key'], ofHeaders.authorization], ['sk-hook', undefined, undefined])
})

test('a call is allowed, blocked, or its arguments are replaced', async () => {
  const add = does('add', ({ a }) => `got ${a}`, { parameters: { type: 'object', properties: { a: { type: 'number' } } } })
  const list = [
    ['1', 'add', { a: 1 }],
    ['2', 'add', { a: 2 }],
    ['3', 'add', { a: 3 }],
    ['4', 'add', { a: 4 }],
    ['5', 'add', { a: 5 }],
  ]
  const decisions = {
    1: undefined,
    2: { block: true, reason: 'not that one' },
    3: { arguments: { a: '30' } },
    4: { arguments: { a: 'x' } },
    5: { blok: true },
  }
  const agent = scripted([calls(...list), says('x')], {
    tools: [add],
    beforeToolCall: async ({ toolCallId }) => decisions[toolCallId],
  })
  const results = toolTexts(await agent.prompt('go'))
  assert.deepEqual(results.slice(0, 3), [['got 1', false], ['not that one', true], ['got 30', false]])
  assert.match(results[3][0], /the arguments of add do not fit its schema:\n\/a: /)
  assert.match(results[4][0], /unknown field "blok"; did you mean "block"\?/)
})

test('parts of a result are replaced', async () => {
  const image = { type: 'image', data: 'aGk=', mimeType: 'image/png' }
  for (const [answer, content, details, isError, outcome] of [
    [null, [{ type: 'text', text: 'it' }], null, false, 'completed'],
    [{ content: 'text' }, [{ type: 'text', text: 'text' }], null, false, 'completed'],
    [{ content: [image], details: { a_b: 1 }, isError: true }, [image], { a_b: 1 }, true, 'completed'],
    [{ terminate: true, content: undefined }, [{ type: 'text', text: 'it' }], null, false, 'stopped'],
  ]) {
    const agent = scripted([calls(['a', 't']), says('x')], { tools: [does('t', () => 'it')], afterToolCall: () => answer })
    const result = await agent.prompt('go')
    const message = agent.messages[2]
    assert.deepEqual([message.content, message.details, message.isError, result.outcome], [content, details, isError, outcome])
  }
})

test('prepareNextTurn changes the rest of the run', async () => {
  const look = does('look', () => 'seen')
  const other = { provider: 'scripted', id: 'other', script: [says('from the other')] }
  const payloads = []
  const agent = scripted([calls(['a', 'look'])], {
    tools: [look, does('hide', () => 1)],
    prepareNextTurn: ({ toolResults }) => ({
      context: { systemPrompt: 'Anew.', messages: [{ role: 'user', content: 'all' }, ...toolResults], tools: [look] },
      model: other,
      thinkingLevel: 'high',
    }),
    onPayload: ({ payload }) => void payloads.push(payload),
  })
  const { text } = await agent.prompt('go')
  assert.equal(text, 'from the other')
  const { model, system_prompt, thinking_level, tools, messages } = payloads[1]
  assert.deepEqual(
    [model, system_prompt, thinking_level, tools.map((tool) => tool.name)],
    ['scripted/other', 'Anew.', 'high', ['look']],
  )
  assert.equal(messages[0].content[0].text, 'all')
  assert.deepEqual(
    [agent.model, agent.systemPrompt, agent.thinkingLevel, agent.messages[0].content[0].text],
    ['scripted/s', '', 'off', 'go'],
  )
})

test('a run is stopped after a turn', async () => {
  const agent = scripted([calls(['a', 't']), says('x')], {
    tools: [does('t', () => 'it')],
    shouldStopAfterTurn: ({ turn }) => turn === 1,
  })
  const { outcome, turns } = await agent.prompt('go')
  assert.deepEqual([outcome, turns], ['stopped', 1])
})

test('hooks add messages, in every form of a prompt', async () => {
  const given = [
    'text',
    { role: 'user', content: 'message' },
    ['two', 'texts'],
    [{ role: 'user', content: 'list' }],
    [{ type: 'text', text: 'block' }],
    [],
  ]
  const agent = scripted(Array.from({ length: 10 }, () => says('ok')), {
    followUpMode: 'all',
    getSteeringMessages: async () => null,
    getFollowUpMessages: async () => given.shift(),
  })
  await agent.prompt('go')
  const said = agent.messages.filter((message) => message.role === 'user').map((message) => message.content[0].text)
  assert.deepEqual(said, ['go', 'text', 'message', 'two', 'texts', 'list', 'block'])
})

test('the request\'s body is replaced', async (t) => {
  const url = await mock(t, [chatFrames('hi')])
  const agent = new Agent({ model: 'company/tiny', baseUrl: url, onPayload: ({ payload }) => ({ ...payload, seed: 7 }) })
  await agent.prompt('go')
  const [request] = await requestsTo(url)
  assert.equal(request.body.seed, 7)
})

test('a hook fails by throwing', async () => {
  const broken = { beforeRun: 1, transformContext: 1, convertToLlm: 1, getApiKey: 1, onPayload: 1, getSteeringMessages: 1 }
  for (const name of Object.keys(broken)) {
    const agent = scripted([says('x')], { [name]: async () => { throw new Error('no luck') } })
    await assert.rejects(agent.prompt('go'), (error) => {
      assert.ok(error instanceof CallbackError, name)
      assert.match(error.message, /^the hook \w+ failed: no luck$/)
      return true
    })
  }
  const tools = [does('t', () => 'it')]
  for (const name of ['beforeToolCall', 'afterToolCall']) {
    const agent = scripted([calls(['a', 't']), says('x')], { tools, [name]: () => { throw new Error('no luck') } })
    assert.match(toolTexts(await agent.prompt('go'))[0][0], /no luck/)
  }
  const watching = scripted([[{ error: { kind: 'server', message: 'no', retryable: false } }]], {
    onError: () => {
      throw new Error('no luck')
    },
  })
  const events = await play(watching.stream('go'))
  assert.ok(events.some((event) => event.type === 'diagnostic' && event.code === 'hook_error' && /no luck/.test(event.message)))
})

test('an invalid answer fails the hook, with the reason', async () => {
  for (const [answer, text] of [
    [10n, 'the answer of transformContext: the BigInt 10n is not JSON'],
    [5, 'its answer cannot be used: expected an array of messages or null, got 5'],
    [[{ role: 'user' }], 'its answer cannot be used: [0]: user message: content is missing'],
  ]) {
    const agent = scripted([says('x')], { transformContext: () => answer })
    await assert.rejects(agent.prompt('go'), { kind: 'callback', message: `the hook transform_context failed: ${text}` })
  }
})

test('a hook is set and removed later', async () => {
  let count = 0
  const agent = scripted([says('a'), says('b'), says('c')])
  agent.setHook('beforeRun', () => void count++)
  await agent.prompt('go')
  agent.setHook('beforeRun', null)
  await agent.prompt('go')
  assert.equal(count, 1)
  agent.setHook('beforeRun', () => { throw new Error('taken out by itself') })
  agent.setHook('beforeRun', null)
  assert.equal((await agent.prompt('go')).text, 'c')
  // One that has begun goes on when it is taken out meanwhile.
  const self = scripted([says('a')], {
    transformContext: async (messages) => {
      self.setHook('transformContext', null)
      await new Promise((resolve) => setImmediate(resolve))
      return messages
    },
  })
  assert.equal((await self.prompt('go')).text, 'a')
})

test('an invalid hook is refused when it is set', () => {
  const agent = scripted([])
  assert.throws(() => agent.setHook('before_run', () => {}), {
    message: /^unknown hook "before_run"; known are transformContext, .*onApproval$/,
  })
  assert.throws(() => agent.setHook('beforeRun', 'x'), { message: 'hook "beforeRun": expected a function, got string' })
  assert.throws(() => agent.setHook('beforeRun'), { message: 'hook "beforeRun": expected a function, got nothing' })
  assert.throws(() => scripted([], { onError: 5 }), { message: 'hook "onError": expected a function, got number' })
  assert.throws(() => scripted([], { before_run() {} }), { message: 'unknown option "before_run"; did you mean "beforeRun"?' })
  scripted([], { onError: undefined, onPayload: null })
})

test('an abort ends a hook immediately, and its signal fires', async () => {
  let signal
  const agent = scripted([says('x')], {
    transformContext: (_, context) => {
      signal = context.signal
      agent.abort()
      return new Promise(() => {})
    },
  })
  assert.equal((await agent.prompt('go')).outcome, 'aborted')
  if (!signal.aborted) await awake(once(signal, 'abort'))
})

test('a sleep in a hook uses the run\'s clock, and ends with an abort', async () => {
  let whole
  const agent = scripted([says('x'), says('y')], {
    transformContext: async (_, { sleep }) => void (whole = await sleep(3_600_000)),
  })
  assert.equal((await agent.prompt('go')).text, 'x')
  assert.equal(whole, true)
  const cut = new Promise((resolve) => {
    agent.setHook('transformContext', (_, { sleep }) => {
      agent.abort()
      // The run does not wait for it any more.
      resolve(sleep(3_600_000))
    })
  })
  assert.equal((await agent.prompt('go')).outcome, 'aborted')
  assert.equal(await awake(cut), false)
})

test('a run inside a hook of the same agent is refused, steering is not', async () => {
  const refused = []
  const agent = scripted([says('x'), says('y')], {
    beforeRun: async () => {
      for (const attempt of [() => agent.prompt('go'), () => agent.resume(), () => agent.waitForIdle()]) {
        await attempt().catch((error) => refused.push(error instanceof InvalidStateError))
      }
      agent.followUp('and more')
    },
  })
  assert.equal((await agent.prompt('go')).text, 'y')
  assert.deepEqual(refused, [true, true, true])
})

test('replaced callbacks are released', async () => {
  const { setFlagsFromString } = await import('node:v8')
  setFlagsFromString('--expose-gc')
  const gc = (await import('node:vm')).runInNewContext('gc')
  const agent = scripted([calls(['a', 't']), says('x')])
  const made = (make) => {
    const value = make()
    return [value, new WeakRef(value)]
  }
  const refs = []
  const replace = () => {
    const [one, toolRef] = made(() => does('t', () => 'it', { prepareArguments: () => null }))
    const [hook, hookRef] = made(() => () => null)
    agent.tools = [one]
    agent.setHook('transformContext', hook)
    refs.push(toolRef, hookRef)
  }
  for (let i = 0; i < 10; i++) replace()
  await agent.prompt('go')
  agent.tools = []
  agent.setHook('transformContext', null)
  const alive = () => refs.filter((ref) => ref.deref() !== undefined).length
  for (let i = 0; i < 100 && alive() > 0; i++) {
    await new Promise((resolve) => setTimeout(resolve, 10))
    gc()
  }
  assert.equal(alive(), 0)
})

test('a hook whose call is dropped unanswered fails', async () => {
  const { setFlagsFromString } = await import('node:v8')
  setFlagsFromString('--expose-gc')
  const gc = (await import('node:vm')).runInNewContext('gc')
  const agent = scripted([says('x')], { transformContext: () => new Promise(() => {}) })
  const result = agent.prompt('go').catch((error) => error)
  const timer = setInterval(gc, 10)
  assert.equal((await result).message, 'the hook transform_context failed: it was dropped without an answer')
  clearInterval(timer)
})

test('found_a6_hooks: the deepest values pass through every hook unchanged', async () => {
  const nested = (levels) => {
    let value = 'x'
    for (let level = 0; level < levels; level++) value = level % 2 ? [value] : { someKey: value }
    return value
  }
  const copy = (value) => JSON.parse(JSON.stringify(value))
  const deepest = { a: nested(63) }
  let payloads = 0
  const agent = scripted([calls(['c', 't', deepest]), says('ok')], {
    tools: [does('t', () => ({ content: [], details: nested(64) }))],
    transformContext: copy,
    convertToLlm: copy,
    onPayload: ({ payload }) => {
      payloads++
      return copy(payload)
    },
    beforeToolCall: ({ arguments: given }) => ({ arguments: copy(given) }),
    afterToolCall: ({ result }) => ({ details: copy(result.details) }),
  })
  await agent.prompt({ role: 'user', content: 'go', metadata: nested(64) })
  const [user, call, result] = agent.messages
  assert.deepEqual([user.metadata, call.content[0].arguments, result.details], [nested(64), deepest, nested(64)])
  assert.equal(payloads, 2)
  // What is written is read back.
  const again = scripted([says('ok')], { messages: copy(agent.messages) })
  await again.prompt('go')
  assert.deepEqual(copy(again.messages.slice(0, 4)), copy(agent.messages))
  const message = /metadata nests deeper than 64 levels/
  assert.throws(() => agent.appendMessage({ role: 'user', content: 'x', metadata: nested(65) }), { message })
})

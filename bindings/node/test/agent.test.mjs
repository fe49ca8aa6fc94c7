// The agent: options and their errors, state, setters, restored conversations.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { inspect } from 'node:util'

import { Agent, BusyError, InvalidArgumentError, run, tool } from 'agent-loop'

import { calls, does, play, says, scripted, toolTexts } from './helpers.mjs'

const scriptedModel = { provider: 'scripted', id: 's', script: [] }

test('an unknown option is reported as such, also one whose value is a function', async () => {
  const nearest = [
    ['before_tool_call', 'beforeToolCall'],
    ['beforeToolcall', 'beforeToolCall'],
    ['provder', 'provider'],
    ['maxTurn', 'maxTurns'],
  ]
  for (const [name, right] of nearest) {
    const expected = { name: 'InvalidArgumentError', message: `unknown option "${name}"; did you mean "${right}"?` }
    const given = { model: scriptedModel, [name]: () => null }
    assert.throws(() => new Agent(given), expected)
    assert.throws(() => run({}, 'go', given), expected)
    assert.throws(() => scripted([]).setOptions({ temperature: 0, [name]: () => null }), expected)
  }
  const known = /^unknown option "onEvent"; known are model, .*beforeToolCall/
  assert.throws(() => new Agent({ model: scriptedModel, onEvent: () => null }), { message: known })
  assert.throws(() => new Agent({ model: scriptedModel, temperature: 1n, onEvent: 5 }), { message: known })
  // Of a known option the value is what is wrong.
  for (const options of [{ temperature: () => 0 }, { model: () => null }]) {
    const [name] = Object.keys(options)
    const message = `option "${name}": a function is not JSON`
    assert.throws(() => new Agent({ model: scriptedModel, ...options }), { name: 'InvalidArgumentError', message })
    assert.throws(() => scripted([]).setOptions(options), { name: 'InvalidArgumentError', message })
  }
})

test('a prompt that is a Promise or another object without data is refused with what to do', async () => {
  class Later {
    then() {}
  }
  const agent = scripted([])
  for (const [value, text] of [
    [Promise.resolve('go'), 'a Promise is not JSON: await it'],
    [new Later(), 'a Later is not JSON: await it'],
    [new Response('go'), 'a Response is not JSON: use await response.text(), or await response.json()'],
    [new Error('go'), 'an Error is not JSON: throw it, or use its message'],
    [new Map(), 'a Map is not JSON: use Object.fromEntries(map)'],
    [new Uint8Array(1), 'a Uint8Array is not JSON: use base64 text, or content with a file'],
  ]) {
    const refused = (what) => ({ name: 'InvalidArgumentError', message: `${what}: ${text}` })
    await assert.rejects(agent.prompt(value), refused('prompt'))
    assert.throws(() => agent.stream(value), refused('prompt'))
    assert.throws(() => run({}, value, { model: scriptedModel }), refused('prompt'))
    await assert.rejects(agent.prompt([value]), refused('prompt: [0]'))
    assert.throws(() => agent.steer(value), refused('message'))
    assert.throws(() => agent.followUp(value), refused('message'))
    assert.throws(() => agent.appendMessages(value), refused('messages'))
    assert.throws(() => agent.appendMessage({ role: 'user', content: value }), refused('messages: content'))
    assert.throws(() => scripted([], { messages: value }), refused('option "messages"'))
  }
  assert.deepEqual(agent.messages, [])
  const expected = { message: 'setOptions: expected an object of options, for example { temperature: 0 }' }
  for (const options of [Promise.resolve({}), new Map()]) assert.throws(() => agent.setOptions(options), expected)
})

test('messages and tools that are read back cannot be changed', async () => {
  const details = { list: [{ deep: { n: 1 } }] }
  const look = does('look', () => ({ content: [{ type: 'text', text: 'seen' }], details }))
  const script = [calls(['a', 'look', { place: { names: ['Oslo'] } }]), says('One.'), says('Two.')]
  const requests = []
  const onPayload = ({ payload }) => void requests.push(JSON.stringify(payload.messages))
  const messages = [{ role: 'user', content: 'Hi', metadata: { own: [1] } }, { role: 'note', parts: [{ n: 1 }] }]
  const agent = scripted(script, { tools: [look], messages, onPayload })
  await agent.prompt('go')
  const before = JSON.stringify(agent.messages)
  const [user, note, , call, result] = agent.messages
  for (const change of [
    () => (user.content[0].text = 'M'),
    () => user.content.push({ type: 'text', text: 'M' }),
    () => (user.metadata.own[0] = 2),
    () => (user.id = 'new'),
    () => (note.parts[0].n = 2),
    () => (call.content[0].arguments.place.names[0] = 'Bergen'),
    () => (call.usage.input = 5),
    () => delete call.stopReason,
    () => (result.details.list[0].deep.n = 2),
    () => (result.isError = true),
    () => agent.messages.push(user),
    () => agent.tools.push(look),
  ]) {
    assert.throws(change, TypeError, String(change))
  }
  const isFrozen = (value) =>
    typeof value !== 'object' || value === null || (Object.isFrozen(value) && Object.values(value).every(isFrozen))
  assert.ok(isFrozen(agent.messages))
  assert.equal(JSON.stringify(agent.messages), before)
  // Frozen once: what was read is the same later.
  await agent.prompt('more')
  assert.ok(agent.messages[0] === user && agent.messages[4] === result && isFrozen(agent.messages))
  assert.ok(requests.length > 0 && !requests.join().includes('"M"'))
  // A changed copy is accepted.
  agent.replaceMessages([{ ...user, content: [{ type: 'text', text: 'M' }] }, ...agent.messages.slice(1)])
  assert.equal(agent.messages[0].content[0].text, 'M')
  // What the caller gave stays the caller's.
  messages[0].content = 'changed'
  assert.equal(details.list[0].deep.n++, 1)
})

test('setOptions names the way to set what it does not set, and changes nothing', () => {
  const agent = scripted([])
  for (const [options, way] of [
    [{ beforeToolCall: () => null }, 'setHook'],
    [{ onError: null }, 'setHook'],
    [{ tools: [] }, 'agent.tools = [ … ]'],
    [{ messages: [] }, 'replaceMessages'],
    [{ middleware: [] }, 'addMiddleware'],
    [{ provider: async function* () {} }, 'setProvider'],
    [{ providers: {} }, 'setProvider'],
  ]) {
    const message = `option "${Object.keys(options)}" is not a plain value; use ${way}`
    assert.throws(() => agent.setOptions({ systemPrompt: 'x', ...options }), { name: 'InvalidArgumentError', message })
  }
  assert.equal(agent.systemPrompt, '')
})

test('found: a name that others use leads to ours', async () => {
  for (const [options, text] of [
    [{ system: 'x' }, 'unknown option "system"; did you mean "systemPrompt"?'],
    [{ instructions: 'x' }, 'unknown option "instructions"; did you mean "systemPrompt"?'],
    [{ timeout: 5 }, 'unknown option "timeout"; did you mean "requestTimeoutMs" or "runTimeoutMs"?'],
    [{ maxSteps: 5 }, 'unknown option "maxSteps"; did you mean "maxTurns"?'],
    [{ model: 'gemini/gemini-2.5-pro' }, 'unknown provider "gemini"; did you mean "google"?'],
  ]) {
    const start = async () => await new Agent({ model: scriptedModel, ...options }).prompt('x')
    await assert.rejects(start, (error) => error.kind === 'invalid_argument' && error.message.includes(text))
  }
})

test('an error in the options names the option', () => {
  for (const [options, text] of [
    [{ model: scriptedModel, systemPromt: 'x' }, 'unknown option "systemPromt"; did you mean "systemPrompt"?'],
    [{ model: scriptedModel, base_url: 'x' }, 'unknown option "base_url"; did you mean "baseUrl"?'],
    [{ model: scriptedModel, tool: [] }, 'unknown option "tool"; did you mean "tools"?'],
    [{ modle: 'openai/x' }, 'unknown option "modle"; did you mean "model"?'],
    [
      { model: scriptedModel, colour: 'red' },
      /^unknown option "colour"; known are model, messages, .*, systemPrompt, .*, tools, session, .*onApproval$/,
    ],
    [{ model: scriptedModel, temperature: 'hot' }, 'option "temperature": expected a number, got "hot"'],
    [
      { model: scriptedModel, extraBody: { system: 'x' } },
      'option "extraBody": the engine writes "system" itself; use the option systemPrompt',
    ],
    [
      { model: scriptedModel, extraBody: { tools: [] } },
      'option "extraBody": the engine writes "tools" itself; use tools of the agent, or the option hostedTools',
    ],
    [
      { model: scriptedModel, hostedTools: [{ type: 'function', name: 'f' }] },
      'option "hostedTools": [0]: it would be called here, not by the provider; give it as a tool of the agent',
    ],
    [{ model: scriptedModel, hostedTools: 'x' }, 'option "hostedTools": expected a list of objects, got "x"'],
    [{ model: scriptedModel, temperature: NaN }, 'option "temperature": NaN is not JSON'],
    [{ model: scriptedModel, temperature: 1n }, 'option "temperature": the BigInt 1n is not JSON'],
    [{ model: scriptedModel, sessionId: () => 'x' }, 'option "sessionId": a function is not JSON'],
    [{ model: scriptedModel, systemPrompt: 5 }, 'option "systemPrompt": expected text, got 5'],
    [{ model: scriptedModel, maxTurns: -1 }, 'option "maxTurns": expected a whole number of turns (0 for no limit), got -1'],
    [{ model: scriptedModel, maxParallelTools: 0 }, 'option "maxParallelTools": expected a whole number of at least 1, got 0'],
    [
      { model: scriptedModel, toolExecution: 'serial' },
      'option "toolExecution": expected "parallel" or "sequential", got "serial"',
    ],
    [{ model: scriptedModel, cacheRetention: 'ever' }, 'option "cacheRetention": expected "short", "long" or "none", got "ever"'],
    [{ model: scriptedModel, validation: 'loose' }, 'option "validation": expected "coerce", "strict" or "off", got "loose"'],
    [{ model: scriptedModel, headers: { 'x-a': 1 } }, 'option "headers": "x-a": expected text'],
    [{ model: scriptedModel, apiKey: { secret: 1 } }, 'option "apiKey": expected text'],
    [{ model: scriptedModel, tools: {} }, 'option "tools": expected a list of tools, each made with tool({ … }), got object'],
    [
      { model: scriptedModel, tools: [{ name: 'x', execute() {} }] },
      'option "tools": [0]: expected a tool made with tool({ … }), got object',
    ],
    [{ model: scriptedModel, messages: [{ role: 'user' }] }, 'option "messages": [0]: user message: content is missing'],
    [{ model: scriptedModel, messages: 'hi' }, 'option "messages": expected an array of messages, got "hi"'],
    [{}, 'option "model" is missing; give "provider/id", for example "anthropic/claude-sonnet-4-5", or an object'],
    [{ model: 'gpt-5' }, 'model "gpt-5": expected "provider/id", for example "anthropic/claude-sonnet-4-5" or "openai/gpt-5"'],
    [{ model: { ...scriptedModel, baseURL: 'x' } }, 'unknown model field "baseURL"; did you mean "baseUrl"?'],
    [
      { model: { ...scriptedModel, cost: { cacheReads: 1 } } },
      'unknown model cost field "cacheReads"; did you mean "cacheRead"?',
    ],
    [
      { model: 'openai/x', baseUrl: 'localhost:8080' },
      'baseUrl "localhost:8080": it does not begin with http:// or https://; give an address such as "http://127.0.0.1:8080/v1"',
    ],
    [{ model: { ...scriptedModel, script: 5 } }, 'model "scripted/s": script: expected a list of answers, got 5'],
  ]) {
    assert.throws(
      () => new Agent(options),
      (error) => {
        assert.ok(error instanceof InvalidArgumentError, error)
        if (text instanceof RegExp) assert.match(error.message, text)
        else assert.equal(error.message, text)
        assert.deepEqual([error.kind, error.code], ['invalid_argument', 'invalid_argument'])
        return true
      },
    )
  }
  const text = 'Agent: expected an object of options, for example { model: "anthropic/claude-sonnet-4-5" }'
  for (const nothing of [undefined, null, 'openai/x']) assert.throws(() => new Agent(nothing), { message: text })
})

test('an unknown property cannot be assigned', () => {
  const agent = scripted([says('ok')])
  for (const name of ['maxTurns', 'thinkingLevl']) {
    assert.throws(
      () => {
        agent[name] = 1
      },
      { name: 'TypeError', message: `Cannot add property ${name}, object is not extensible` },
    )
  }
  class Own extends Agent {
    user = 'Ada'
  }
  assert.equal(new Own({ model: 'openai/tiny' }).user, 'Ada')
})

test('found: console.log shows what an agent is, and no secret', async () => {
  const agent = scripted([says('ok')], { tools: [tool({ name: 'look', execute: () => 1 })], apiKey: 'sk-secret-1' })
  await agent.prompt('the secret prompt')
  const shown = "Agent { model: 'scripted/s', tools: [ 'look' ], messages: 2, isStreaming: false }"
  assert.equal(inspect(agent, { breakLength: 200 }), shown)
  assert.match(inspect({ deep: { agent } }), /Agent \{/)
  class Own extends Agent {}
  assert.match(inspect(new Own({ model: 'openai/x', headers: { authorization: 'sk-secret-2' } })), /^Own \{\s+model: 'openai\/x'/)
})

test('found: null is left out, and is called null where it is wrong', () => {
  const nothing = { tools: null, middleware: null, provider: null, providers: null, beforeToolCall: null, messages: null }
  assert.deepEqual(new Agent({ model: scriptedModel, ...nothing }).tools, [])
  assert.equal(tool({ name: 'x', execute: () => 1, prepareArguments: null }).prepareArguments, undefined)
  run({ systemPrompt: null, messages: null, tools: null }, 'go', { model: scriptedModel }).abort()
  const agent = new Agent({ model: scriptedModel })
  for (const [wrong, message] of [
    [() => new Agent({ model: scriptedModel, tools: [null] }), /: \[0\]: expected a tool made with tool\(.*\), got null$/],
    [() => new Agent({ model: scriptedModel, tools: 'x' }), /: expected a list of tools, .*, got string$/],
    [() => new Agent({ model: scriptedModel, middleware: [null] }), /: \[0\]: expected a function, got null$/],
    [() => new Agent({ model: scriptedModel, middleware: {} }), /: expected a list of functions, got object$/],
    [() => tool({ name: 'x', execute: null }), /: expected a function, got null$/],
    [() => (agent.tools = null), /: expected a list of tools, .*, got null$/],
  ]) {
    assert.throws(wrong, { name: 'InvalidArgumentError', message })
  }
})

test('undefined means left out', () => {
  const agent = new Agent({ model: scriptedModel, apiKey: undefined, systemPrompt: undefined, tools: undefined })
  assert.deepEqual([agent.systemPrompt, agent.tools, agent.messages], ['', [], []])
})

test('a model object with names in camel case, or as canonical JSON has them', async () => {
  const usage = { input: 1_000_000, output: 1_000_000, cache_read: 1_000_000 }
  const script = [[{ delta: 'x' }, { end: { usage } }]]
  for (const cost of [{ input: 1, output: 2, cacheRead: 0.5 }, { input: 1, output: 2, cache_read: 0.5 }]) {
    const agent = new Agent({ model: { provider: 'scripted', id: 's', script, cost, contextWindow: 10, max_output_tokens: 5 } })
    const result = await agent.prompt('go')
    assert.deepEqual(result.usage.cost, { input: 1, output: 2, cacheRead: 0.5, cacheWrite: 0, total: 3.5 })
  }
})

test('valid prompts', async () => {
  const agent = scripted(Array.from({ length: 8 }, () => says('ok')))
  const image = { type: 'image', data: 'aGk=', mimeType: 'image/png' }
  const text = { type: 'text', text: 'Hi' }
  for (const [prompt, contents] of [
    ['Hi', [[text]]],
    [[text, image], [[text, image]]],
    [{ role: 'user', content: 'Hi' }, [[text]]],
    [[{ role: 'user', content: 'Hi' }, { role: 'user', content: [image] }], [[text], [image]]],
    ['unpaired surrogate: \ud83d', [[{ type: 'text', text: 'unpaired surrogate: \ufffd' }]]],
    ['\\ud83d is text', [[{ type: 'text', text: '\\ud83d is text' }]]],
  ]) {
    const { messages } = await agent.prompt(prompt)
    assert.deepEqual(messages.slice(0, -1).map((message) => message.content), contents)
  }
})

test('an unpaired surrogate becomes the replacement character in all input', async () => {
  const half = 'half \ud83d'
  const requests = []
  const tools = [
    does('answers', ({ where }, { update }) => {
      update({ [half]: half })
      return { text: half + where }
    }),
    does('fails', () => {
      throw new Error(half)
    }),
  ]
  async function* provider(request) {
    if (requests.push(request) > 1) return yield half
    yield { toolCall: { id: 'a', name: 'answers', arguments: { where: half } } }
    yield { toolCall: { id: 'b', name: 'answers', arguments: '{"where": "\\ud83d"}' } }
    yield { toolCall: { id: 'c', name: 'fails' } }
  }
  const messages = [{ role: 'user', content: half }, { role: 'assistant', content: [{ type: 'text', text: half }] }]
  const agent = new Agent({
    model: 'acme/m',
    provider,
    systemPrompt: half,
    tools,
    messages,
    afterToolCall: () => ({ details: half }),
  })
  agent.addMiddleware((call, next) => next({ where: half, ...call.arguments }))
  agent.followUp(half)
  const result = await agent.prompt([{ type: 'text', text: half }])
  assert.deepEqual(toolTexts(result), [['{"text":"half �half �"}', false], ['{"text":"half ��"}', false], ['half �', true]])
  assert.deepEqual([result.text, requests[0].systemPrompt], ['half �', 'half �'])
  assert.deepEqual(
    agent.messages.filter(({ role }) => role === 'user').map(({ content }) => content[0].text),
    ['half �', 'half �', 'half �'],
  )
  const failing = new Agent({
    model: 'acme/m',
    maxRetries: 0,
    async *provider() {
      throw new Error(half)
    },
  })
  await assert.rejects(failing.prompt(half), { name: 'ProviderError', message: 'half �' })
})

test('a refused model changes nothing', async () => {
  const agent = scripted([says('one'), says('two')])
  const { model, systemPrompt } = agent
  await agent.prompt('go')
  const unknown = /model "opnai\/x": unknown provider "opnai"; did you mean "openai"\? For another server give baseUrl$/
  for (const [options, message] of [
    [{ model: 'opnai/x' }, unknown],
    [{ model: 'opnai/x', systemPrompt: 'New.' }, unknown],
    [{ model: { provider: 'scripted', id: 'x' } }, /^model "scripted\/x": script is missing/],
    [{ model: 'openai/x', baseUrl: 'localhost' }, /^baseUrl "localhost": it does not begin with http:/],
    [{ fallbacks: ['groq/m', 'opnai/x'] }, /^option "fallbacks": \[1\]: model "opnai\/x": unknown provider "opnai"/],
  ]) {
    assert.throws(() => agent.setOptions(options), { name: 'InvalidArgumentError', message })
  }
  assert.throws(() => (agent.model = 'opnai/x'), { name: 'InvalidArgumentError', message: unknown })
  assert.deepEqual([agent.model, agent.systemPrompt], [model, systemPrompt])
  assert.equal((await agent.prompt('go')).text, 'two')
})

test('an invalid fallback is named', () => {
  for (const [fallbacks, text] of [
    ['openai/gpt-5', 'option "fallbacks": expected a list of models, got "openai/gpt-5"'],
    [['groq/m', 'gpt'], /^option "fallbacks": \[1\]: model "gpt": expected "provider\/id"/],
    [['groq/m', 'nobody/m'], /^option "fallbacks": \[1\]: model "nobody\/m": unknown provider "nobody"/],
    [
      [{ provider: 'groq', id: 'm', apiversion: '1' }],
      /^option "fallbacks": \[0\]: unknown model field "apiversion"; did you mean "apiVersion"\?$/,
    ],
  ]) {
    assert.throws(() => new Agent({ model: 'groq/m', fallbacks }), { name: 'InvalidArgumentError', message: text })
  }
})

test('a fallback, as an object in camel case, answers when the model fails', async () => {
  const usage = { input: 1_000_000 }
  const failing = { provider: 'scripted', id: 'a', script: [[{ error: { kind: 'not_found', message: 'gone' } }]] }
  const other = {
    provider: 'scripted',
    id: 'b',
    contextWindow: 10,
    cost: { input: 1 },
    script: [[{ delta: 'here' }, { end: { usage } }]],
  }
  const { text, message } = await new Agent({ model: failing, fallbacks: [other] }).prompt('go')
  assert.deepEqual([text, message.model, message.usage.cost.total], ['here', 'b', 1])
})

test('invalid prompts', async () => {
  const agent = scripted([])
  for (const [prompt, text] of [
    [undefined, 'prompt: expected text, a message or a list of messages, got null'],
    [5, 'prompt: expected text, a message or a list of messages, got 5'],
    [[], 'prompt: the list is empty; give at least one message'],
    [() => 'Hi', 'prompt: a function is not JSON'],
    [{ role: 'user', content: [{ type: 'txt' }] }, 'prompt: user message: content[0]: unknown type "txt"; did you mean "text"?'],
    [[{ type: 'image', data: 'x' }], 'prompt: content[0]: image block: mimeType is missing'],
  ]) {
    const expected = { name: 'InvalidArgumentError', message: text }
    await assert.rejects(agent.prompt(prompt), expected)
    assert.throws(() => agent.stream(prompt), expected)
  }
  assert.equal(agent.isStreaming, false)
})

test('a second run while one is active is refused', async () => {
  const agent = scripted([calls(['a', 'wait']), says('x')], {
    tools: [does('wait', () => new Promise((resolve) => setTimeout(resolve, 30)))],
  })
  const first = agent.prompt('go')
  assert.equal(agent.isStreaming, true)
  await assert.rejects(agent.prompt('again'), (error) => {
    assert.ok(error instanceof BusyError)
    const text = /^a run is active on this agent, and another cannot be started: use steer or followUp to reach it/
    assert.match(error.message, text)
    return true
  })
  assert.throws(() => agent.stream('again'), BusyError)
  assert.equal((await first).text, 'x')
  await agent.waitForIdle()
})

test('the state during a run', async () => {
  const agent = scripted([[{ delta: 'Let me see' }, ...calls(['a', 'look'])], says('done')], {
    tools: [does('look', () => 'seen')],
  })
  const seen = []
  agent.subscribe((event) => {
    const { isStreaming, pendingToolCalls, streamingMessage, messages } = agent
    if (event.type === 'text_delta') seen.push([event.delta, isStreaming, streamingMessage.content[0].text, messages.length])
    if (event.type === 'tool_execution_start') seen.push([event.type, pendingToolCalls, streamingMessage, messages.length])
    if (event.type === 'tool_execution_end') seen.push([event.type, pendingToolCalls])
    if (event.type === 'message_end') assert.deepEqual(messages.at(-1), event.message)
  })
  await agent.prompt('go')
  assert.deepEqual(seen, [
    ['Let me see', true, 'Let me see', 1],
    ['tool_execution_start', ['a'], null, 2],
    ['tool_execution_end', []],
    ['done', true, 'done', 3],
  ])
  assert.deepEqual([agent.isStreaming, agent.streamingMessage, agent.pendingToolCalls, agent.error], [false, null, [], null])
})

test('messages is the same array until it changes, and cannot be changed', async () => {
  const agent = scripted([says('a'), says('b')])
  await agent.prompt('go')
  const before = agent.messages
  assert.equal(agent.messages, before)
  await agent.prompt('go')
  assert.deepEqual([before.length, agent.messages.length, agent.messages[0] === before[0]], [2, 4, true])
  assert.throws(() => before.push({}), TypeError)
})

test('a conversation is saved and restored, byte for byte', async () => {
  const script = [[{ delta: { thinking: 'Hm' } }, ...calls(['a', 'look', { deep: { a_b: 1 } }])], says('seen')]
  const tools = [does('look', () => ({ content: [{ type: 'text', text: 'it' }], details: { some_thing: { aB: 1 } } }))]
  const agent = scripted(script, { tools })
  await agent.prompt('go')
  const saved = JSON.stringify(agent.messages)
  assert.match(saved, /"tool_call_id":"a","tool_name":"look".*"details":\{"some_thing":\{"aB":1\}\}/)
  for (const messages of [JSON.parse(saved), agent.messages, structuredClone(agent.messages)]) {
    const again = scripted([says('more')], { messages })
    assert.equal(JSON.stringify(again.messages), saved)
    assert.equal((await again.prompt('and?')).messages.length, 2)
    assert.equal(again.messages.length, agent.messages.length + 2)
  }
  const short = scripted([], { messages: [{ role: 'user', content: 'Hi' }, { role: 'assistant', content: 'Hello' }] })
  assert.deepEqual(short.messages.map(({ role, content }) => [role, content]), [
    ['user', [{ type: 'text', text: 'Hi' }]],
    ['assistant', [{ type: 'text', text: 'Hello' }]],
  ])
})

test("custom messages are kept unchanged", () => {
  const note = { role: 'note', some_name: 1, otherName: { a_b: 2 } }
  assert.deepEqual(scripted([], { messages: [note] }).messages, [note])
})

test('setters', async () => {
  const agent = scripted([], { systemPrompt: 'one' })
  assert.deepEqual([agent.systemPrompt, agent.model], ['one', 'scripted/s'])
  agent.systemPrompt = 'two'
  agent.model = { provider: 'scripted', id: 'other', script: [calls(['a', 'look']), says('found')] }
  const look = does('look', () => 'it')
  agent.tools = [look]
  assert.deepEqual([agent.systemPrompt, agent.model, agent.tools], ['two', 'scripted/other', [look]])
  assert.equal((await agent.prompt('go')).text, 'found')
  agent.model = 'openai/gpt-5'
  assert.equal(agent.model, 'openai/gpt-5')
  assert.throws(() => (agent.systemPrompt = 5), { message: 'option "systemPrompt": expected text, got 5' })
  assert.throws(() => (agent.model = 'nothing'), { message: /^model "nothing": expected "provider\/id"/ })
  assert.throws(() => (agent.tools = [look, does('look', () => 1)]), {
    message: 'there are two tools named "look"; give each its own name',
  })
  assert.deepEqual([agent.systemPrompt, agent.model, agent.tools], ['two', 'openai/gpt-5', [look]], 'nothing was changed')
})

test('options are changed all together, or not at all', async () => {
  const asked = []
  const agent = scripted([says('a'), says('b')], { onPayload: ({ payload }) => void asked.push(payload.options) })
  agent.setOptions({ temperature: 0, maxTokens: 5 })
  await agent.prompt('go')
  assert.throws(() => agent.setOptions({ temperature: 1, maxTurns: 'x' }), { message: /^option "maxTurns": / })
  assert.throws(() => agent.setOptions({ colour: 1 }), { message: /^unknown option "colour"/ })
  assert.throws(() => agent.setOptions(), {
    message: 'setOptions: expected an object of options, for example { temperature: 0 }',
  })
  agent.setOptions({ maxTokens: undefined })
  await agent.prompt('go')
  assert.deepEqual(asked, [{ temperature: 0, max_tokens: 5 }, { temperature: 0 }])
})

test('setters during a run take effect at its next turn', async () => {
  const agent = scripted([calls(['a', 'change']), calls(['b', 'fresh']), says('done')])
  const fresh = does('fresh', () => 'fresh answer')
  agent.tools = [
    does('change', () => {
      agent.tools = [fresh]
      return 'changed'
    }),
  ]
  const { messages, text } = await agent.prompt('go')
  assert.deepEqual(messages.filter((m) => m.role === 'tool_result').map((m) => m.content[0].text), ['changed', 'fresh answer'])
  assert.equal(text, 'done')
})

test('maxTurns ends a run', async () => {
  const agent = scripted([calls(['a', 'again']), calls(['b', 'again'])], { maxTurns: 2, tools: [does('again', () => 1)] })
  const { outcome, turns } = await agent.prompt('go')
  assert.deepEqual([outcome, turns], ['max_turns', 2])
})

test('one tool in several agents is compiled once', async () => {
  const shared = tool({
    name: 'shared',
    parameters: { type: 'object', properties: { n: { type: 'number' } }, required: ['n'] },
    execute: ({ n }, { toolCallId }) => `${toolCallId} ${n}`,
  })
  const agents = [1, 2, 3].map((n) => scripted([calls([`c${n}`, 'shared', { n }]), says('x')], { tools: [shared] }))
  const results = await Promise.all(agents.map((agent) => agent.prompt('go')))
  assert.deepEqual(results.map((result) => result.messages[2].content[0].text), ['c1 1', 'c2 2', 'c3 3'])
})

test('events of a run carry the same messages as the agent', async () => {
  const agent = scripted([says('x')])
  const events = await play(agent.stream('go'))
  assert.deepEqual(events.at(-1).messages, agent.messages)
})

test('messages are read anew after each change of the conversation, also of the same length', async () => {
  const agent = scripted([says('One.'), says('Two.')])
  const user = (content) => ({ role: 'user', content })
  const texts = () => agent.messages.map((message) => message.content[0].text)
  await agent.prompt('first')
  assert.deepEqual(texts(), ['first', 'One.'])
  const before = agent.messages
  assert.equal(agent.messages, before)
  agent.replaceMessages([user('a'), user('b')])
  assert.deepEqual(texts(), ['a', 'b'])
  agent.reset()
  agent.appendMessages([user('c'), user('d')])
  assert.deepEqual(texts(), ['c', 'd'])
  const [c] = agent.messages
  await agent.prompt('second')
  assert.deepEqual(texts(), ['c', 'd', 'second', 'Two.'])
  assert.equal(agent.messages[0], c)
  agent.clearMessages()
  assert.deepEqual(texts(), [])
})

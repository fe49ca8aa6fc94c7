// Tools: arguments, results, failures.

import assert from 'node:assert/strict'
import { AsyncLocalStorage } from 'node:async_hooks'
import { test } from 'node:test'
import { runInNewContext } from 'node:vm'

import { InvalidArgumentError, InvalidStateError, tool } from 'agent-loop'

import { calls, does, play, says, scripted, toolTexts } from './helpers.mjs'

/** What one call of this tool comes to: the text of its result, and whether it is an error. */
async function resultOf(execute, args = {}) {
  const agent = scripted([calls(['a', 't', args]), says('x')], { tools: [does('t', execute)] })
  const [answer] = toolTexts(await agent.prompt('go'))
  return answer
}

test('results of tools', async () => {
  for (const [execute, text] of [
    [() => 'text', 'text'],
    [async () => 'later', 'later'],
    [() => ({ b: 1, a: [true, null, 'ü'] }), '{"b":1,"a":[true,null,"ü"]}'],
    [() => 345, '345'],
    [() => 0.5, '0.5'],
    [() => false, 'false'],
    [() => [], '[]'],
    [() => ({ content: 'no blocks' }), '{"content":"no blocks"}'],
    [() => ({ isError: false }), '{"isError":false}'],
    [() => ({ kept: 1, dropped: undefined }), '{"kept":1}'],
    [() => new Date(0), '1970-01-01T00:00:00.000Z'],
    [() => ({ toJSON: () => ({ its: 'own form' }) }), '{"its":"own form"}'],
    [() => ({ then: (resolve) => resolve('thenable') }), 'thenable'],
  ]) {
    assert.deepEqual(await resultOf(execute), [text, false])
  }
})

test('found_r1_what_is_meant_as_a_full_result_and_is_none_is_an_error', async () => {
  const text = { type: 'text', text: 'a' }
  for (const [result, why] of [
    [{ isError: true }, 'content is missing; '],
    [{ isError: 'yes', content: [text] }, 'isError: expected true or false, got "yes"'],
    [{ isErr: true, content: [text] }, 'unknown field "isErr"; did you mean "isError"?'],
    [{ iserror: true, content: [text] }, 'unknown field "iserror"; did you mean "is_error" or "isError"?'],
    [{ content: 'text', terminate: true }, 'content: expected an array of blocks '],
    [{ content: [{ typ: 'text' }] }, 'content[0]: unknown field "typ"; did you mean "type"?'],
  ]) {
    const [answer, isError] = await resultOf(() => result)
    assert.ok(isError && answer.startsWith(`the tool's result: ${why}`), answer)
  }
})

test('found_r2_what_is_certainly_no_schema_is_refused', () => {
  const instead = 'has no JSON Schema keyword; did you mean {"type": "object", "properties": {"city": …}}?'
  const type = 'object'
  for (const [parameters, why] of [
    [{ city: { type: 'string' } }, instead],
    [{ city: 'string' }, instead],
    [
      { type, properties: { n: { type: 'float' } } },
      'is not a JSON Schema: at "/properties/n/type": unknown type "float"; did you mean "number"?',
    ],
    [
      { type, properties: { city: {} }, required: ['citty'] },
      'is not a JSON Schema: at "/required": "citty" is not in "properties"; did you mean "city"?',
    ],
  ]) {
    const expected = { name: 'InvalidArgumentError', message: `tool "t": parameters ${why}` }
    assert.throws(() => tool({ name: 't', parameters, execute() {} }), expected)
  }
})

test('undefined is an empty result', async () => {
  for (const nothing of [() => {}, () => null, async () => undefined]) assert.deepEqual(await resultOf(nothing), ['', false])
})

test('a full result', async () => {
  const image = { type: 'image', data: 'aGk=', mimeType: 'image/png' }
  const full = { content: [{ type: 'text', text: 'seen' }, image], details: { in_side: { aB: 1 } }, isError: true }
  const agent = scripted([calls(['a', 't']), says('x')], { tools: [does('t', () => full)] })
  const events = await play(agent.stream('go'))
  const end = events.find((event) => event.type === 'tool_execution_end')
  assert.deepEqual(end.result, { content: full.content, details: full.details, terminate: false })
  assert.equal(end.isError, true)
  const message = agent.messages[2]
  assert.deepEqual([message.content, message.details, message.isError], [full.content, full.details, true])
})

test('a terminating result ends the run', async () => {
  const agent = scripted([calls(['a', 't'])], {
    tools: [does('t', () => ({ content: [{ type: 'text', text: 'bye' }], terminate: true }))],
  })
  assert.equal((await agent.prompt('go')).outcome, 'stopped')
})

test('a result that is not JSON is an error result that names the value', async () => {
  const cycle = {}
  cycle.self = cycle
  for (const [value, text] of [
    [10n, "the tool's result: the BigInt 10n is not JSON"],
    [{ n: 10n }, 'the tool\'s result: n: the BigInt 10n is not JSON'],
    [cycle, "the tool's result: it contains itself"],
    [() => 1, "the tool's result: a function is not JSON"],
    [{ f() {} }, 'the tool\'s result: f: a function is not JSON'],
    [Symbol('s'), "the tool's result: a symbol is not JSON"],
    [NaN, "the tool's result: NaN is not JSON"],
    [new Map([['a', 1]]), "the tool's result: a Map is not JSON: use Object.fromEntries(map)"],
    [{ toJSON: () => { throw new Error('no form') } }, "the tool's result: it cannot be written as JSON: no form"],
  ]) {
    assert.deepEqual(await resultOf(() => value), [text, true])
  }
})

test('found_n4_instances: what JSON would empty is an error that names it, and says what to return', async () => {
  class Weather {
    rain = true
  }
  class Written extends Weather {
    toJSON() {
      return { rain: this.rain }
    }
  }
  const text = (value) => `the tool's result: ${value}`
  const plain = 'use a plain object with its fields, or give the class a toJSON method'
  const iterate = 'use a list of its values, or yield them from the tool'
  const binary = 'use base64 text, or content with a file'
  for (const [make, said] of [
    [() => new Error('gone'), 'an Error is not JSON: throw it, or use its message'],
    [() => new TypeError('gone'), 'a TypeError is not JSON: throw it, or use its message'],
    [() => new InvalidStateError({ kind: 'invalid_state', message: 'x' }), /^an InvalidStateError is not JSON: throw it/],
    [() => runInNewContext('new RangeError("far")'), 'a RangeError is not JSON: throw it, or use its message'],
    [() => new Response('x'), 'a Response is not JSON: use await response.text(), or await response.json()'],
    [() => new Headers(), 'a Headers is not JSON: use Object.fromEntries(headers)'],
    [() => new Set([1]), 'a Set is not JSON: use [...set]'],
    [() => new Weather(), `a Weather is not JSON: ${plain}`],
    [() => new (class {})(), `an instance of a class is not JSON: ${plain}`],
    [() => [1].values(), null],
    [() => Buffer.from('x'), `a Buffer is not JSON: ${binary}`],
    [() => new Uint8Array(2), `a Uint8Array is not JSON: ${binary}`],
    [() => new ArrayBuffer(2), `an ArrayBuffer is not JSON: ${binary}`],
    [() => /x/, 'a RegExp is not JSON: use its source'],
    [() => new WeakMap(), `a WeakMap is not JSON: ${plain}`],
  ]) {
    // An iterator at the top is a generator's.
    if (said !== null) {
      const [top, isError] = await resultOf(make)
      assert.ok(isError)
      if (said instanceof RegExp) assert.match(top.slice(text('').length), said)
      else assert.equal(top, text(said))
    }
    const [inside] = await resultOf(() => ({ list: [make()] }))
    if (typeof said === 'string') assert.equal(inside, text(`[0]: ${said}`))
  }
  const nested = async (value) => (await resultOf(() => ({ list: [value] })))[0]
  assert.equal(await nested(Promise.resolve(1)), text('[0]: a Promise is not JSON: await it'))
  assert.equal(await nested((function* () {})()), text(`[0]: a Generator is not JSON: ${iterate}`))
  assert.equal(await nested((async function* () {})()), text(`[0]: an AsyncGenerator is not JSON: ${iterate}`))
  // What writes itself, or is as good as plain.
  for (const [value, json] of [
    [new Written(), '{"rain":true}'],
    [new Date(0), '"1970-01-01T00:00:00.000Z"'],
    [new URL('http://a/'), '"http://a/"'],
    [[Object('x'), Object(1), Object(true)], '["x",1,true]'],
    [Object.assign(Object.create(null), { a: 1 }), '{"a":1}'],
    [runInNewContext('({ a: [1] })'), '{"a":[1]}'],
    [Object.freeze({ a: 1 }), '{"a":1}'],
    [new (class extends Array {})(2).fill(0), '[0,0]'],
  ]) {
    assert.deepEqual(await resultOf(() => ({ value })), [`{"value":${json}}`, false])
  }
})

test('found_n4_generators: each value is an update, what is returned is the result', async () => {
  for (const [execute, updates, result] of [
    [async function* () { yield 'a'; yield { b: 1 }; return 'end' }, ['a', '{"b":1}'], ['end', false]],
    [function* () { yield 'a'; yield Promise.resolve('b'); return 'end' }, ['a', 'b'], ['end', false]],
    [async function* () { yield 'a'; yield 'last' }, ['a', 'last'], ['last', false]],
    [async function* () { yield 'a'; return null }, ['a'], ['', false]],
    [async function* () {}, [], ['', false]],
    [function* () { return Promise.resolve('later') }, [], ['later', false]],
    [async () => (async function* () { yield 1; return 2 })(), ['1'], ['2', false]],
    [async function* () { yield 'a'; throw new Error('half way') }, ['a'], ['half way', true]],
    [
      async function* () { yield { content: [{ type: 'text', text: 'full' }], details: { at: 1 } } },
      ['full'],
      ['full', false],
    ],
    [async function* () { yield new Map() }, [], [/a Map is not JSON/, true]],
    [async function* () { yield* ['a', 'b'] }, ['a', 'b'], ['b', false]],
  ]) {
    const agent = scripted([calls(['a', 't']), says('x')], { tools: [does('t', execute)] })
    const events = await play(agent.stream('go'))
    const reported = events.filter(({ type }) => type === 'tool_execution_update').map(({ partialResult }) => partialResult)
    assert.deepEqual(reported.map(({ content }) => content[0].text), updates)
    const [[text, isError]] = toolTexts({ messages: agent.messages })
    if (result[0] instanceof RegExp) assert.match(text, result[0])
    else assert.equal(text, result[0])
    assert.equal(isError, result[1])
  }
})

test('found_n4_generators_are_closed: after an abort, and when a value is not JSON', async () => {
  const log = []
  const agent = scripted([calls(['a', 't']), says('x')], {
    tools: [
      does('t', async function* (_, { signal, sleep }) {
        try {
          yield 'a'
          agent.abort()
          // The abort reaches the tool a moment later.
          while (!signal.aborted) await sleep(1)
          yield 'b'
          log.push('not reached')
        } finally {
          log.push('closed')
        }
      }),
    ],
  })
  assert.equal((await agent.prompt('go')).outcome, 'aborted')
  assert.deepEqual(log.splice(0), ['closed'])
  const bad = function* () {
    try {
      yield 1n
    } finally {
      log.push('closed')
    }
  }
  assert.deepEqual(await resultOf(bad), ["the tool's result: the BigInt 1n is not JSON", true])
  assert.deepEqual(log, ['closed'])
})

test('what tools throw goes to the model, and the run continues', async () => {
  for (const [execute, text] of [
    [() => { throw new Error('no such city') }, 'no such city'],
    [async () => { throw new TypeError('too late') }, 'too late'],
    [() => Promise.reject('plain text'), 'plain text'],
    [() => { throw new RangeError() }, 'RangeError'],
    [() => { throw undefined }, 'undefined'],
    [() => { throw Object.create(null) }, 'the thrown value has no text'],
  ]) {
    assert.deepEqual(await resultOf(execute), [text, true])
  }
})

test('arguments are checked before the tool sees them', async () => {
  const seen = []
  const add = tool({
    name: 'add',
    parameters: {
      type: 'object',
      properties: { a: { type: 'number' }, b: { type: 'number' } },
      required: ['a', 'b'],
    },
    execute: ({ a, b }) => (seen.push([a, b]), a + b),
  })
  const script = () => [calls(['1', 'add', { a: 1, b: '2' }], ['2', 'add', { a: 1 }], ['3', 'sub', {}]), says('x')]
  const results = toolTexts(await scripted(script(), { tools: [add] }).prompt('go'))
  assert.deepEqual(seen, [[1, 2]])
  assert.deepEqual(results[0], ['3', false])
  assert.deepEqual(results[1], ['the arguments of add do not fit its schema:\n/b: is required', true])
  assert.deepEqual(results[2], ['there is no tool named "sub"; the tools are: add', true])
  const strict = toolTexts(await scripted(script(), { tools: [add], validation: 'strict' }).prompt('go'))
  assert.match(strict[0][0], /do not fit its schema:\n.*\/b/s)
  await scripted(script(), { tools: [add], validation: 'off' }).prompt('go')
  assert.deepEqual(seen.slice(1), [[1, '2'], [1, undefined]])
})

test('the context of a tool', async () => {
  const agent = scripted([calls(['call_7', 't', { x: 1 }]), says('x')], {
    tools: [
      does('t', async (args, context) => {
        assert.deepEqual(args, { x: 1 })
        const { toolCallId, signal, update, sleep } = context
        assert.equal(toolCallId, 'call_7')
        assert.ok(signal instanceof AbortSignal && !signal.aborted)
        assert.equal(context.signal, signal)
        update('half')
        update({ content: [{ type: 'text', text: 'more' }], details: { at: 2 } })
        assert.equal(await sleep(60_000), true, 'in virtual time')
        return 'done'
      }),
    ],
  })
  const events = await play(agent.stream('go'))
  const execution = events.filter((event) => event.type.startsWith('tool_execution'))
  assert.deepEqual(
    execution.map(({ type, toolCallId, toolName, partialResult, result, durationMs }) => [
      type,
      toolCallId,
      toolName,
      partialResult ?? result,
      durationMs,
    ]),
    [
      ['tool_execution_start', 'call_7', 't', undefined, undefined],
      ['tool_execution_update', 'call_7', 't', { content: [{ type: 'text', text: 'half' }], details: null }, undefined],
      ['tool_execution_update', 'call_7', 't', { content: [{ type: 'text', text: 'more' }], details: { at: 2 } }, undefined],
      [
        'tool_execution_end',
        'call_7',
        't',
        { content: [{ type: 'text', text: 'done' }], details: null, terminate: false },
        60_000,
      ],
    ],
  )
})

test('an update that is not JSON fails the call, one after the answer is dropped with a diagnostic', async () => {
  let late
  const agent = scripted([calls(['a', 'bad'], ['b', 'late'], ['c', 'last']), says('x')], {
    toolExecution: 'sequential',
    tools: [
      does('bad', (_, { update }) => update(1n)),
      does('late', (_, { update }) => void (late = update)),
      does('last', () => void late('too late')),
    ],
  })
  const events = await play(agent.stream('go'))
  const [first] = events.filter((event) => event.type === 'tool_execution_end')
  assert.deepEqual(
    [first.isError, first.result.content[0].text],
    [true, "the tool's result: the BigInt 1n is not JSON"],
  )
  const diagnostic = events.find((event) => event.type === 'diagnostic')
  assert.deepEqual(
    [diagnostic.code, diagnostic.message],
    ['late_update', 'the tool late sent an update after the end of its call b; it was dropped'],
  )
})

test('parallel tools run concurrently, as many as allowed; sequential ones do not', async () => {
  const most = async (options, modes = []) => {
    let running = 0
    let peak = 0
    const work = async (_, { sleep }) => {
      peak = Math.max(peak, ++running)
      await sleep(10)
      await new Promise((resolve) => setImmediate(resolve))
      running--
    }
    const names = ['a', 'b', 'c', 'd']
    const agent = scripted([calls(...names.map((name) => [name, name])), says('x')], {
      ...options,
      tools: names.map((name, i) => does(name, work, modes[i] ? { executionMode: modes[i] } : {})),
    })
    const events = await play(agent.stream('go'))
    const results = events.filter((event) => event.type === 'message_end' && event.message.role === 'tool_result')
    assert.deepEqual(results.map((event) => event.message.toolCallId), names)
    return peak
  }
  assert.equal(await most({}), 4)
  assert.equal(await most({ maxParallelTools: 2 }), 2)
  assert.equal(await most({ toolExecution: 'sequential' }), 1)
  assert.equal(await most({}, [undefined, 'sequential']), 1)
  assert.equal(await most({}, ['parallel', 'parallel', 'parallel', 'parallel']), 4)
})

test('an invalid tool is refused when it is created', () => {
  const execute = () => {}
  for (const [options, text] of [
    [
      { name: 'two words', execute },
      "tool name \"two words\": use 1 to 64 letters, digits, '_' or '-' (what every provider takes)",
    ],
    [{ execute }, 'tool: name is missing'],
    [{ name: 5, execute }, 'tool: name: expected text, got 5'],
    [{ name: 't' }, 'tool "t": execute: expected a function, got nothing'],
    [{ name: 't', execute: 'x' }, 'tool "t": execute: expected a function, got string'],
    [{ name: 't', execute, prepareArguments: {} }, 'tool "t": prepareArguments: expected a function, got object'],
    [{ name: 't', execute, timeoutMs: -1 }, 'tool "t": timeoutMs: expected milliseconds (0 for no limit), got -1'],
    [{ name: 't', execute, paramters: {} }, 'tool "t": unknown field "paramters"; did you mean "parameters"?'],
    [{ name: 't', execute, execution_Mode: 'x' }, 'tool "t": unknown field "execution_Mode"; did you mean "executionMode"?'],
    [
      { name: 't', execute, executionMode: 'serial' },
      'tool "t": executionMode: expected "parallel" or "sequential", got "serial"',
    ],
    [
      { name: 't', execute, parameters: { type: 'object', properties: { a: { type: 'numbr' } } } },
      /^tool "t": parameters is not a JSON Schema: at "\/properties\/a\/type": /,
    ],
    [
      { name: 't', execute, parameters: { type: 'string' } },
      'tool "t": parameters is not a JSON Schema: at "/type": arguments are an object, so this must be "object", not "string"',
    ],
    [{ name: 't', execute, description: () => 'x' }, 'tool "t": description: a function is not JSON'],
  ]) {
    assert.throws(() => tool(options), { name: 'InvalidArgumentError', message: text })
  }
  assert.throws(() => tool(), InvalidArgumentError)
})

test('found: an unknown field of a tool is reported with the tool, also one whose value is a function', () => {
  for (const [name, hint] of [
    ['exceute', 'did you mean "execute"?'],
    ['prepare_arguments', 'did you mean "prepareArguments"?'],
    ['json_schema', 'did you mean "jsonSchema"?'],
    ['handler', 'did you mean "execute"?'],
    [
      'each',
      'known are name, description, parameters, label, executionMode, timeoutMs, needsApproval, onInterrupted, subject, ' +
        'execute, prepareArguments, jsonSchema',
    ],
  ]) {
    const message = `tool "x": unknown field "${name}"; ${hint}`
    assert.throws(() => tool({ name: 'x', [name]: () => 1 }), { name: 'InvalidArgumentError', message })
    assert.throws(() => tool({ name: 5n, [name]: () => 1 }), { name: 'InvalidArgumentError', message: /unknown field/ })
  }
})

test('the properties of a tool', () => {
  const parameters = { type: 'object', properties: {} }
  const full = tool({ name: 't', description: 'd', label: 'T', parameters, executionMode: 'sequential', execute() {} })
  assert.deepEqual(
    [full.name, full.description, full.label, full.parameters, full.executionMode],
    ['t', 'd', 'T', parameters, 'sequential'],
  )
  const least = tool({ name: 't', execute() {} })
  assert.deepEqual(
    [least.label, least.description, least.executionMode, least.timeoutMs, least.prepareArguments],
    ['t', '', undefined, 0, undefined],
  )
})

test('a run inside a tool of the same agent is refused, not a deadlock', async () => {
  const refused = []
  let other
  let later
  const agent = scripted([calls(['a', 't']), says('x'), says('after')], {
    tools: [
      does('t', async () => {
        const run = scripted([says('inner')]).stream('go')
        assert.equal((await run.result()).text, 'inner', "another agent's run is fine")
        const attempts = [
          () => agent.prompt('go'),
          async () => agent.stream('go'),
          () => agent.waitForIdle(),
          () => own.next(),
          () => own.result(),
          // Through a tool of another agent.
          () =>
            (other = scripted([calls(['b', 'u']), says('y')], { tools: [does('u', () => agent.waitForIdle())] })).prompt('go'),
        ]
        for (const attempt of attempts) {
          await attempt().then((result) => refused.push(result?.messages?.[2]), (error) => refused.push(error))
        }
        // What is left running when the tool has returned is not inside any more.
        later = new Promise((resolve) => setTimeout(resolve, 20)).then(() => agent.prompt('go'))
      }),
    ],
  })
  const own = agent.stream('go')
  const events = await play(own)
  assert.equal(events.at(-1).outcome, 'completed')
  const text = (what) => `${what} inside a listener, hook or tool of the same agent would deadlock; do it after the run`
  assert.deepEqual(
    refused.slice(0, 5).map((error) => [error instanceof InvalidStateError, error.message]),
    ['starting a run', 'starting a run', 'waitForIdle', 'reading the run', 'waiting for the run'].map((what) => [
      true,
      text(what),
    ]),
  )
  assert.deepEqual([refused[5].isError, refused[5].content[0].text], [true, text('waitForIdle')])
  assert.equal((await later).text, 'after')
})

test('tools get the AsyncLocalStorage context in which the run was started', async () => {
  const storage = new AsyncLocalStorage()
  const agent = scripted([calls(['a', 't']), says('x'), calls(['b', 't']), says('y')], {
    tools: [does('t', async () => storage.getStore())],
  })
  const first = await storage.run('first', () => agent.prompt('go'))
  const run = storage.run('second', () => agent.stream('go'))
  const second = await run.result()
  assert.deepEqual([...toolTexts(first), ...toolTexts(second)], [['first', false], ['second', false]])
})

test('a call continues when its tool is removed meanwhile', async () => {
  const agent = scripted([calls(['a', 'first'], ['b', 'second']), calls(['c', 'first']), says('x')])
  const first = does('first', async (_, { sleep }) => {
    agent.tools = []
    await sleep(10)
    return 'still here'
  })
  // Not yet taken up on this thread when the first takes both away.
  const second = does('second', () => 'here too')
  agent.tools = [first, second]
  assert.deepEqual(toolTexts(await agent.prompt('go')), [
    ['still here', false],
    ['here too', false],
    ['there is no tool named "first"; the tools are: none', true],
  ])
})

test('prepareArguments changes arguments before they are validated', async () => {
  const parameters = { type: 'object', properties: { n: { type: 'number' } }, required: ['n'] }
  const put = (prepareArguments) => does('t', ({ n }) => n, { parameters, prepareArguments })
  for (const [prepare, answer] of [
    [({ N }) => ({ n: N }), ['1', false]],
    [async ({ N }, { signal, sleep }) => ({ n: (await sleep(1000)) && !signal.aborted ? N + 1 : 0 }), ['2', false]],
    [() => undefined, [/\/n: is required/, true]],
    [() => 5, [/prepare_arguments of t failed: expected an object of arguments, got 5/, true]],
    [
      () => ({ n: 1n }),
      [/prepare_arguments of t failed: the answer of prepareArguments: n: the BigInt 1n is not JSON/, true],
    ],
    [
      () => {
        throw new Error('no idea')
      },
      [/prepare_arguments of t failed: no idea/, true],
    ],
  ]) {
    const agent = scripted([calls(['a', 't', { N: 1 }]), says('x')], { tools: [put(prepare)] })
    const [[text, isError]] = toolTexts(await agent.prompt('go'))
    if (answer[0] instanceof RegExp) assert.match(text, answer[0])
    else assert.equal(text, answer[0])
    assert.equal(isError, answer[1])
  }
})

test('a tool has a time limit', async () => {
  const agent = scripted([calls(['a', 'slow'], ['b', 'quick']), says('x')], {
    toolTimeoutMs: 5000,
    tools: [
      does('slow', (_, { sleep }) => sleep(60_000), { timeoutMs: 1000 }),
      does('quick', async (_, { sleep }) => void (await sleep(2000))),
    ],
  })
  const [slow, quick] = toolTexts(await agent.prompt('go'))
  assert.match(slow[0], /1000/)
  assert.deepEqual([slow[1], quick[1]], [true, false])
})

test('a tool call that is dropped unanswered fails', async () => {
  const { setFlagsFromString } = await import('node:v8')
  setFlagsFromString('--expose-gc')
  const gc = (await import('node:vm')).runInNewContext('gc')
  const agent = scripted([calls(['a', 't']), says('x')], { tools: [does('t', () => new Promise(() => {}))] })
  const result = agent.prompt('go')
  const timer = setInterval(gc, 10)
  assert.deepEqual(toolTexts(await result), [['the tool t dropped the call without an answer', true]])
  clearInterval(timer)
})

test('found_a15_bounds: a schema without bounds is refused', () => {
  let deep = {}
  for (let level = 0; level < 70; level++) deep = { items: deep }
  for (const [parameters, message] of [
    [{ type: 'object', $ref: '#' }, /refers to itself/],
    [{ type: 'object', properties: { x: deep } }, /nests deeper than 64 levels/],
    [{ type: 'object', properties: { x: { enum: Array(50_000).fill('word') } } }, /at most 256 KiB/],
    [{ type: 'object', properties: { x: { pattern: '((a{100}){100}){100}' } } }, /patterns are too large/],
  ]) {
    assert.throws(() => tool({ name: 't', description: 'A tool.', parameters, execute: () => 1 }), {
      name: 'InvalidArgumentError',
      message,
    })
  }
})

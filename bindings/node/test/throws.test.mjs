// Whatever an application's functions throw or answer is that call's error: never an exception of the process.

import assert from 'node:assert/strict'
import { test } from 'node:test'

import { AgentError, tool } from 'agent-loop'

import { awake, calls, does, play, program, says, scripted, toolTexts } from './helpers.mjs'

/** An error with this message, or with these own properties. */
const errorWith = (properties) => Object.defineProperties(new Error('plain'), properties)
const messageIs = (value) => errorWith({ message: { value } })
const revoked = () => {
  const { proxy, revoke } = Proxy.revocable({}, {})
  revoke()
  return proxy
}
const throwing = () => {
  throw new Error('inside')
}
/** A proxy each of whose traps throws. */
const hostile = () =>
  new Proxy(new Error('target'), Object.fromEntries(Reflect.ownKeys(Reflect).map((name) => [name, throwing])))

/** Odd values by name, and the text they have where they are thrown. */
const THROWN = {
  'an object as message': [() => messageIs({ code: 5 }), '{"code":5}'],
  'a number as message': [() => messageIs(404), '404'],
  'no message': [() => messageIs(undefined), 'Error'],
  'a symbol as message': [() => messageIs(Symbol('s')), 'Symbol(s)'],
  'a BigInt as message': [() => messageIs(10n), '10'],
  'a function as message': [() => messageIs(throwing), 'a function'],
  'a cyclic message': [() => messageIs(cyclic()), 'the thrown value has no text'],
  'a message that throws': [() => errorWith({ message: { get: throwing } }), 'the thrown value has no text'],
  'a name that throws': [() => errorWith({ message: { value: '' }, name: { get: throwing } }), 'the thrown value has no text'],
  'a toString that throws': [() => ({ toString: throwing, toJSON: throwing }), 'the thrown value has no text'],
  'a text in an object': [() => ({ message: 'plain object' }), 'plain object'],
  'an object': [() => ({ status: 418 }), '{"status":418}'],
  'an object without a prototype': [() => Object.create(null), 'the thrown value has no text'],
  'a proxy that throws': [hostile, 'the thrown value has no text'],
  'a revoked proxy': [revoked, 'the thrown value has no text'],
  'a proxy as message': [() => messageIs(hostile()), 'the thrown value has no text'],
  'a revoked proxy as message': [() => messageIs(revoked()), 'the thrown value has no text'],
  null: [() => null, 'null'],
  undefined: [() => undefined, 'undefined'],
  'a symbol': [() => Symbol('s'), 'Symbol(s)'],
  'a number': [() => 5, '5'],
  'a BigInt': [() => 5n, '5'],
  'an empty text': [() => '', 'the thrown text is empty'],
  'a function': [() => throwing, 'a function'],
  'a class': [() => AgentError, 'a function'],
  'a cyclic cause': [() => withCause(new Error('round')), 'round'],
  'a thenable that throws': [() => Object.defineProperty({}, 'then', { get: throwing }), 'the thrown value has no text'],
  'an error of another realm': [() => Object.assign(Object.create({ name: 'Error' }), { message: 'far' }), 'far'],
  'an AgentError without fields': [() => Object.create(AgentError.prototype), 'AgentError'],
  'an AgentError whose toJSON throws': [() => Object.assign(agentError('own'), { toJSON: throwing }), 'own'],
  'an AgentError of an unknown kind': [() => Object.assign(agentError('odd'), { kind: {} }), 'odd'],
  'an unpaired surrogate': [() => new Error('\ud800'), '\ufffd'],
}

function cyclic() {
  const value = { list: [] }
  value.list.push(value, value, value)
  return value
}

function withCause(error) {
  error.cause = error
  return error
}

const agentError = (message) => new AgentError({ kind: 'server', message, retryable: false })

/** Ways to throw a value. */
const WAYS = {
  throws: (value) => () => {
    throw value
  },
  rejects: (value) => () => Promise.reject(value),
  'throws later': (value) => async () => {
    await null
    throw value
  },
  'gives a thenable that rejects': (value) => () => ({ then: (_, reject) => reject(value) }),
  'gives a thenable that throws': (value) => () => ({
    then() {
      throw value
    },
  }),
}

/** Calls `check` with each way to throw each value; reports what it failed for. */
async function eachThrown(check) {
  for (const [way, make] of Object.entries(WAYS)) {
    for (const [name, [value, text]] of Object.entries(THROWN)) {
      await check(make(value()), text, `${way}: ${name}`)
    }
  }
}

test('found_a2_thrown_by_tools: it is the result of the call', async () => {
  await eachThrown(async (execute, text, what) => {
    const agent = scripted([calls(['a', 't']), says('on')], { tools: [does('t', execute)] })
    const result = await agent.prompt('go')
    assert.deepEqual([toolTexts(result)[0], result.text], [[text, true], 'on'], what)
  })
})

test('found: an AggregateError is reported with its first errors', async () => {
  const many = Array.from({ length: 7 }, (_, i) => new Error(`no ${i}`))
  const inner = new AggregateError([new TypeError('deep'), 'text', null])
  const odd = new AggregateError([new Error('x'.repeat(10_000))], 'long')
  const itself = new AggregateError([], 'round')
  itself.errors.push(itself)
  const hidden = new AggregateError([])
  Object.defineProperty(hidden, 'errors', { get() { throw new Error('no') } })
  for (const [thrown, text] of [
    [new AggregateError(many, 'all failed'), 'all failed: no 0; no 1; no 2; no 3; no 4; and 2 more'],
    [new AggregateError([inner, new Error('b')], 'two'), 'two: deep; text; null; b'],
    [odd, `long: ${'x'.repeat(500)}…`],
    [itself, 'round: round: round: round'],
    [hidden, 'the thrown value has no text'],
    [new AggregateError([]), 'AggregateError'],
  ]) {
    const execute = () => {
      throw thrown
    }
    const agent = scripted([calls(['a', 't']), says('on')], { tools: [does('t', execute)] })
    assert.deepEqual(toolTexts(await agent.prompt('go'))[0], [text, true])
  }
  const any = does('t', () => Promise.any([Promise.reject(new Error('one')), Promise.reject(new Error('two'))]))
  const result = await scripted([calls(['a', 't']), says('on')], { tools: [any] }).prompt('go')
  assert.deepEqual(toolTexts(result)[0], ['All promises were rejected: one; two', true])
})

test('found_a2_thrown_by_prepare_arguments_and_middleware', async () => {
  await eachThrown(async (thrower, text, what) => {
    const prepared = scripted([calls(['a', 't']), says('on')], { tools: [does('t', () => 1, { prepareArguments: thrower })] })
    assert.deepEqual(toolTexts(await prepared.prompt('go'))[0], [`prepare_arguments of t failed: ${text}`, true], what)
    const around = scripted([calls(['a', 't']), says('on')], { tools: [does('t', () => 1)], middleware: [thrower] })
    assert.deepEqual(toolTexts(await around.prompt('go'))[0], [text, true], what)
    // What the tool throws reaches middleware as an Error: itself, if it is one, else with its text.
    const seen = []
    const inside = scripted([calls(['a', 't']), says('on')], {
      tools: [does('t', thrower)],
      middleware: [(_, next) => next().catch((error) => void seen.push(error))],
    })
    await inside.prompt('go')
    // The message of an Error itself may be empty, or not well-formed.
    const [{ message }] = seen
    assert.ok(seen[0] instanceof Error && [text, '', '\ud800'].includes(message), `${what}: ${message}`)
  })
})

test('found_a2_thrown_by_hooks: as the documentation says for each', async () => {
  const tools = [does('t', () => 1)]
  const fatal = ['transformContext', 'convertToLlm', 'getApiKey', 'onPayload', 'prepareNextTurn', 'shouldStopAfterTurn']
  await eachThrown(async (hook, text, what) => {
    for (const name of fatal) {
      const agent = scripted([calls(['a', 't']), says('on')], { tools, [name]: hook })
      const error = await agent.prompt('go').then(assert.fail, (error) => error)
      assert.equal(error.kind, 'callback', `${what}: ${name}`)
      assert.ok(error.message.endsWith(text), `${what}: ${name}: ${error.message}`)
    }
    for (const name of ['beforeToolCall', 'afterToolCall']) {
      const result = await scripted([calls(['a', 't']), says('on')], { tools, [name]: hook }).prompt('go')
      const [[said, isError]] = toolTexts(result)
      assert.ok(isError && said.endsWith(text), `${what}: ${name}: ${said}`)
    }
    const observed = scripted([says('on')], { afterRun: hook })
    assert.equal((await observed.prompt('go')).text, 'on', what)
  })
})

test('found_a2_thrown_by_listeners: counted and reported, and the run goes on', async () => {
  await eachThrown(async (listener, text, what) => {
    const agent = scripted([says('on')])
    const stop = agent.subscribe((event) => (event.type === 'turn_start' ? listener() : undefined))
    const events = await play(agent.stream('go'))
    const reported = events.find((event) => event.type === 'diagnostic')
    assert.ok(reported?.message.includes(text) || JSON.stringify(reported.data).includes(JSON.stringify(text)), what)
    assert.deepEqual([events.at(-1).outcome, agent.listenerErrors], ['completed', 1], what)
    stop()
  })
})

test('found_a2_thrown_by_providers: it is the error of the message', async () => {
  const generators = {
    'in the generator': (thrower) =>
      async function* () {
        yield 'half'
        await thrower()
      },
    'instead of a generator': (thrower) => thrower,
    'in next': (thrower) => () => ({ [Symbol.asyncIterator]: () => ({ next: thrower }) }),
    'for the iterator': (thrower) => () => ({ [Symbol.asyncIterator]: thrower }),
  }
  await eachThrown(async (thrower, text, what) => {
    for (const [where, make] of Object.entries(generators)) {
      // A promise instead of an iterator is one that no one awaits, in any `for await`.
      if (where === 'for the iterator' && !what.startsWith('throws:')) continue
      const agent = scripted([], { model: 'own/m', provider: make(thrower), maxRetries: 0 })
      const error = await agent.prompt('go').then(assert.fail, (error) => error)
      assert.ok(error instanceof AgentError, `${what}, ${where}`)
      assert.ok(error.message.includes(text), `${what}, ${where}: ${error.message}`)
    }
  })
})

/** Odd answers, none of which is JSON. */
const ANSWERS = {
  'a toJSON that throws': () => ({ toJSON: throwing }),
  'a toJSON that is a proxy': () => ({ toJSON: new Proxy(throwing, {}) }),
  'a toJSON that throws null': () => ({
    toJSON() {
      throw null
    },
  }),
  'a toJSON that throws a revoked proxy': () => ({
    toJSON() {
      throw revoked()
    },
  }),
  'a BigInt': () => 1n,
  'a BigInt object': () => ({ n: Object(1n) }),
  'a cyclic object': cyclic,
  'a getter that throws': () => Object.defineProperty({}, 'content', { enumerable: true, get: throwing }),
  'content that throws': () => ({ content: Object.defineProperty([], 0, { enumerable: true, get: throwing }) }),
  'cyclic content': () => ({ content: [Object.assign(cyclic(), { type: 'text', text: 'x' })] }),
  'a hostile proxy': hostile,
  'a revoked proxy': () => ({ a: revoked() }),
  'a function': () => throwing,
  'a symbol': () => Symbol('s'),
  'nested too deeply': () => {
    let value = []
    for (let depth = 0; depth < 100_000; depth++) value = [value]
    return value
  },
}

test('found_a2_odd_answers: an error of that call', async () => {
  const tools = [does('t', () => 1)]
  for (const [name, make] of Object.entries(ANSWERS)) {
    for (const answer of [make, async () => make()]) {
      const script = () => [calls(['a', 't']), says('on')]
      const result = await scripted(script(), { tools: [does('t', answer)] }).prompt('go')
      assert.deepEqual([toolTexts(result)[0][1], result.text], [true, 'on'], name)
      const around = await scripted(script(), { tools, middleware: [answer] }).prompt('go')
      assert.deepEqual([toolTexts(around)[0][1], around.text], [true, 'on'], name)
      for (const hook of ['beforeToolCall', 'afterToolCall']) {
        const hooked = await scripted(script(), { tools, [hook]: answer }).prompt('go')
        assert.deepEqual([toolTexts(hooked)[0][1], hooked.text], [true, 'on'], `${hook}: ${name}`)
      }
      const transformed = await scripted(script(), { tools, transformContext: answer }).prompt('go').catch((error) => error)
      assert.equal(transformed.kind, 'callback', name)
      const updating = await scripted(script(), { tools: [does('t', (_, { update }) => update(make()))] }).prompt('go')
      assert.equal(toolTexts(updating)[0][1], true, name)
    }
    const provider = async function* () {
      yield make()
    }
    const agent = scripted([], { model: 'own/m', provider, maxRetries: 0 })
    const failed = await agent.prompt('go').then(assert.fail, (error) => error)
    assert.ok(failed instanceof AgentError, name)
  }
})

test('found_a2_random: nested odd values, thrown and answered by everything', async () => {
  // Reproducible: a linear congruential generator.
  let state = 2_024
  const random = (below) => (state = (state * 1_103_515_245 + 12_345) % 2 ** 31) % below
  const odd = [...Object.values(THROWN).map(([make]) => make), ...Object.values(ANSWERS).slice(0, -1)]
  const value = (depth = 0) => {
    const made = odd[random(odd.length)]()
    if (depth > 3 || random(2)) return made
    const inner = value(depth + 1)
    return [[inner], { content: [inner] }, { message: inner }, messageIs(inner), { type: 'text', text: inner }][random(5)]
  }
  const act = () => {
    const made = value()
    return [() => made, ...Object.values(WAYS).map((make) => make(made))][random(6)]()
  }
  for (let round = 0; round < 300; round++) {
    const agent = scripted([calls(['a', 't'], ['b', 't']), says('on')], {
      tools: [does('t', act, random(2) ? { prepareArguments: () => (random(3) ? undefined : act()) } : {})],
      beforeToolCall: () => (random(3) ? undefined : act()),
      afterToolCall: () => (random(3) ? undefined : act()),
      onError: act,
      afterRun: act,
      middleware: [(_, next) => (random(3) ? next() : act())],
    })
    agent.subscribe(() => (random(9) ? undefined : act()))
    const result = await agent.prompt('go').catch((error) => error.result)
    assert.equal(result.messages.filter((message) => message.role === 'tool_result').length, 2)
    await agent.waitForIdle()
  }
  await awake(new Promise((resolve) => setTimeout(resolve, 10)))
})

test('found_a2_process: nothing of it ends a process', async () => {
  const text = `
    import { Agent, tool } from 'agent-loop'
    for (const name of ['uncaughtException', 'unhandledRejection']) process.on(name, (error) => console.log(name, error))
    const bad = () => { throw Object.defineProperty(new Error('x'), 'message', { value: {} }) }
    const call = { delta: { tool_call: { id: 'a', name: 't', arguments: {} } } }
    const script = [[call, { end: {} }], [{ delta: 'on' }, { end: {} }]]
    const model = { provider: 'scripted', id: 's', script }
    const agent = new Agent({ model, tools: [tool({ name: 't', execute: bad })], onError: bad, afterRun: bad })
    agent.subscribe(bad)
    console.log((await agent.prompt('go')).text)`
  const { code, output, errors } = await program(text)
  assert.deepEqual([code, output, errors], [0, 'on\n', ''])
})

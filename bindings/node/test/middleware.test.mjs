// Middleware: around the execution of tools, in order.

import assert from 'node:assert/strict'
import { test } from 'node:test'

import { does, calls, says, scripted, toolTexts } from './helpers.mjs'

/** What one call comes to with these middlewares. */
async function through(middleware, execute = ({ n }) => `got ${n}`) {
  const agent = scripted([calls(['a', 't', { n: 1 }]), says('x')], { tools: [does('t', execute)], middleware })
  const [answer] = toolTexts(await agent.prompt('go'))
  return answer
}

test('middleware runs in order, each around the next', async () => {
  const log = []
  const link = (name) => async (call, next) => {
    log.push(`${name} in ${call.id} ${call.name} ${JSON.stringify(call.arguments)}`)
    const result = await next()
    log.push(`${name} out`)
    return result
  }
  const agent = scripted([calls(['a', 't', { n: 1 }]), says('x')], {
    tools: [does('t', () => void log.push('tool'))],
    middleware: [link('one')],
  })
  agent.addMiddleware(link('two'))
  await agent.prompt('go')
  assert.deepEqual(log, ['one in a t {"n":1}', 'two in a t {"n":1}', 'tool', 'two out', 'one out'])
})

test('next returns a full result, which may be changed', async () => {
  let full
  const answer = await through([
    async (_, next) => {
      full = await next()
      return { ...full, content: [{ type: 'text', text: 'changed' }], isError: true }
    },
  ])
  assert.deepEqual(full, { content: [{ type: 'text', text: 'got 1' }], details: null, isError: false, terminate: false })
  assert.deepEqual(answer, ['changed', true])
})

test('other arguments, more than once, or not at all', async () => {
  assert.deepEqual(await through([(_, next) => next({ n: 2 })]), ['got 2', false])
  assert.deepEqual(await through([async (call, next) => (await next({ n: 5 }), next(call.arguments))]), ['got 1', false])
  assert.deepEqual(await through([() => 'instead']), ['instead', false])
  assert.deepEqual(await through([() => '']), ['', false])
})

test('found_r3_a_middleware_that_returns_nothing_fails_the_call', async () => {
  const ran = []
  const execute = () => ran.push('tool')
  const nothing = 'returned nothing for a call of t; it has to return what next gives, or a result of its own (an empty text if'
  for (const forgetful of [async (_, next) => void (await next()), async (_, next) => (await next(), null)]) {
    const [text, isError] = await through([forgetful], execute)
    assert.ok(isError && text.startsWith(`the middleware ${nothing}`), text)
    const [inner] = await through([(_, next) => next(), forgetful], execute)
    assert.ok(inner.startsWith(`middleware 2 of 2 ${nothing}`), inner)
  }
  assert.equal(ran.length, 4)
})

test('found_r1_a_middleware_that_changes_a_result_wrongly_fails_the_call', async () => {
  const [text, isError] = await through([async (_, next) => ({ ...(await next()), content: 'changed', isError: false })])
  assert.match(text, /^the tool's result: content: expected an array of blocks such as .*, got "changed"/)
  assert.equal(isError, true)
})

test('what the tool throws, next throws; what a middleware throws goes to the model', async () => {
  const fails = () => { throw new Error('no such city') }
  assert.deepEqual(await through([(_, next) => next()], fails), ['no such city', true])
  assert.deepEqual(await through([(_, next) => next().catch((error) => `caught: ${error.message}`)], fails), [
    'caught: no such city',
    false,
  ])
  assert.deepEqual(await through([() => { throw new TypeError('broken link') }]), ['broken link', true])
  assert.deepEqual(await through([() => 1n]), ["the middleware's result: the BigInt 1n is not JSON", true])
  assert.match((await through([(_, next) => next(5)]))[0], /^next: expected an object of arguments, got 5$/)
  assert.match((await through([(_, next) => next({ n: 1n })]))[0], /^next: n: the BigInt 1n is not JSON$/)
})

test('middleware gets the context of the tool: signal, update, sleep', async () => {
  const events = []
  const agent = scripted([calls(['a', 't']), says('x')], {
    tools: [does('t', (_, { sleep }) => sleep(1000))],
    middleware: [
      async ({ context: { signal, update, sleep, toolCallId } }, next) => {
        assert.ok(signal instanceof AbortSignal)
        update('soon')
        assert.equal(await sleep(2000), true)
        return { ...(await next()), details: toolCallId }
      },
    ],
  })
  agent.subscribe((event) => void events.push(event))
  await agent.prompt('go')
  assert.equal(events.find((event) => event.type === 'tool_execution_update').partialResult.content[0].text, 'soon')
  const end = events.find((event) => event.type === 'tool_execution_end')
  assert.deepEqual([end.durationMs, end.result.details], [3000, 'a'])
})

test('a run inside a middleware of the same agent is refused', async () => {
  let refused
  const agent = scripted([calls(['a', 't']), says('x')], {
    tools: [does('t', () => 'it')],
    middleware: [async (_, next) => (await agent.prompt('go').catch((error) => (refused = error.kind)), next())],
  })
  await agent.prompt('go')
  assert.equal(refused, 'invalid_state')
})

test('invalid middleware is refused when it is added', () => {
  const message = 'option "middleware": expected a list of functions, got function'
  assert.throws(() => scripted([], { middleware: () => {} }), { message })
  assert.throws(() => scripted([], { middleware: [5] }), { message: 'option "middleware": [0]: expected a function, got number' })
  assert.throws(() => scripted([]).addMiddleware(), {
    name: 'InvalidArgumentError',
    message: 'addMiddleware: expected a function, got nothing',
  })
})

// AsyncLocalStorage: what the code that starts a run, its hooks and its middleware set is seen by what is called later.

import assert from 'node:assert/strict'
import { AsyncLocalStorage } from 'node:async_hooks'
import { test } from 'node:test'
import { setImmediate as tick } from 'node:timers/promises'

import { Agent } from 'agent-loop'

import { calls, does, says, scripted, toolTexts } from './helpers.mjs'

const who = new AsyncLocalStorage()
const seen = () => who.getStore() ?? 'unset'
const plain = does('t', () => seen())
const later = does('t', async () => {
  await tick()
  return seen()
})
const generator = does('t', async function* () {
  yield 'soon'
  await tick()
  return seen()
})
const TOOLS = [plain, later, generator]

const asking = (tool, options) => scripted([calls(['a', 't']), says('x'), says('y')], { tools: [tool], ...options })
const answer = async (agent) => toolTexts(await agent.prompt('go'))[0][0]

test('found_e16_what_middleware_sets_reaches_the_tool', async () => {
  for (const tool of TOOLS) {
    const outer = (_, next) => who.run('outer', next)
    const inner = async (_, next) => {
      assert.equal(seen(), 'outer')
      const result = await who.run('inner', next)
      assert.equal(seen(), 'outer')
      return result
    }
    assert.equal(await answer(asking(tool, { middleware: [outer] })), 'outer')
    assert.equal(await answer(asking(tool, { middleware: [outer, inner] })), 'inner')
    const entering = async (_, next) => {
      await tick()
      who.enterWith('entered')
      return next()
    }
    assert.equal(await answer(asking(tool, { middleware: [outer, entering] })), 'entered')
    assert.equal(seen(), 'unset')
  }
})

test('found_e16_the_store_of_the_prompt_reaches_all', async () => {
  const all = new Set()
  const note = () => void all.add(seen())
  const agent = asking(later, {
    beforeRun: note,
    transformContext: note,
    beforeToolCall: note,
    afterToolCall: note,
    afterRun: note,
    middleware: [(_, next) => (note(), next())],
  })
  agent.subscribe(note)
  assert.equal(await who.run('caller', () => answer(agent)), 'caller')
  assert.deepEqual([...all], ['caller'])
  const run = who.run('reader', () => agent.stream('again'))
  await run.result()
  assert.deepEqual([...all], ['caller', 'reader'])
})

test('found_e16_parallel_calls_do_not_see_each_others', async () => {
  const many = Array.from({ length: 20 }, (_, n) => [`c${n}`, 't', { n }])
  for (const tool of [plain, later]) {
    const agent = scripted([calls(...many), says('x')], {
      tools: [tool],
      beforeToolCall: (call) => who.enterWith(`for ${call.arguments.n}`),
      middleware: [
        async (call, next) => {
          await tick()
          return who.run(`${seen()} ${call.arguments.n}`, next)
        },
      ],
    })
    const texts = toolTexts(await agent.prompt('go')).map(([text]) => text)
    assert.deepEqual(texts, many.map((_, n) => `for ${n} ${n}`))
  }
})

test('found_e16_what_one_tool_sets_another_does_not_see', async () => {
  const enters = does('t', ({ n }) => {
    const before = seen()
    who.enterWith(`tool ${n}`)
    return before
  })
  const agent = scripted([calls(['a', 't', { n: 1 }], ['b', 't', { n: 2 }]), says('x')], { tools: [enters] })
  assert.deepEqual(toolTexts(await agent.prompt('go')).map(([text]) => text), ['unset', 'unset'])
})

test('found_e16_each_call_of_next_has_its_own', async () => {
  const twice = async (_, next) => {
    const both = await Promise.all(['a', 'b'].map((name) => who.run(name, next)))
    return both.map((result) => result.content[0].text).join(' ')
  }
  assert.equal(await answer(asking(later, { middleware: [twice] })), 'a b')
})

test('found_e16_what_a_hook_enters_reaches_the_tools_and_what_comes_later', async () => {
  const entering = [
    () => who.enterWith('hook'),
    async () => {
      who.enterWith('hook')
      await tick()
    },
  ]
  for (const hook of entering) {
    for (const name of ['beforeRun', 'transformContext', 'getApiKey', 'getSteeringMessages', 'beforeToolCall']) {
      for (const tool of TOOLS) assert.equal(await answer(asking(tool, { [name]: hook })), 'hook', name)
    }
    assert.equal(seen(), 'unset')
    const after = []
    const note = (name) => () => void after.push(`${name} ${seen()}`)
    const agent = new Agent({
      model: 'mine/m',
      provider: function* () {
        after.push(`provider ${seen()}`)
        yield 'done'
      },
      beforeRun: hook,
      transformContext: note('transformContext'),
      shouldStopAfterTurn: note('shouldStop'),
      afterRun: note('afterRun'),
    })
    agent.subscribe((event) => (event.type === 'agent_end' ? note('listener')() : undefined))
    await agent.prompt('go')
    const names = ['transformContext', 'provider', 'shouldStop', 'listener', 'afterRun']
    assert.deepEqual(after.splice(0), names.map((one) => `${one} hook`))
    // The next run begins with its caller's.
    agent.setHook('beforeRun', null)
    await agent.prompt('again')
    assert.deepEqual(after, names.map((one) => `${one} unset`))
  }
})

test('found_e16_the_hooks_around_a_call_share_its_context', async () => {
  const after = []
  const agent = asking(later, {
    beforeToolCall: () => who.enterWith('this call'),
    afterToolCall: () => void after.push(seen()),
    shouldStopAfterTurn: () => void after.push(seen()),
  })
  assert.equal(await answer(agent), 'this call')
  assert.deepEqual(after, ['this call', 'unset', 'unset'])
})

test('the contexts of calls end with them, also without afterToolCall and where a call is blocked', async () => {
  const { setFlagsFromString } = await import('node:v8')
  setFlagsFromString('--expose-gc')
  const gc = (await import('node:vm')).runInNewContext('gc')
  const stores = []
  const alive = () => stores.filter((store) => store.deref() !== undefined).length
  let atLast
  const count = does('t', async ({ n }) => {
    if (n < 8) return 'ran'
    for (let i = 0; i < 100 && alive() > 1; i++) {
      await tick()
      gc()
    }
    atLast = alive()
    return 'ran'
  })
  const script = [1, 2, 3, 4, 5, 6, 7, 8].map((n) => calls([`c${n}`, 't', { n }]))
  const agent = scripted([...script, says('x')], {
    tools: [count],
    beforeToolCall: ({ arguments: { n } }) => {
      const store = {}
      stores.push(new WeakRef(store))
      who.enterWith(store)
      return n % 2 ? { block: true } : null
    },
  })
  await agent.prompt('go')
  assert.deepEqual([stores.length, atLast], [8, 1])
})

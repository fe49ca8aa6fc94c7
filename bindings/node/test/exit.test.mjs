// The end of the process: when nothing is awaited, or immediately on request, and never a crash.

import assert from 'node:assert/strict'
import { test } from 'node:test'

import { mock, program } from './helpers.mjs'

const TIMES = 20

/** Programs with a run in flight, in different states; each says `ready` when it is. */
const inFlight = {
  'a stream that is read': () => `
    const script = [[...Array.from({ length: 10_000 }, () => ({ delta: 'x' })), { end: {} }]]
    const agent = new Agent({ model: { provider: 'scripted', id: 's', script } })
    let count = 0
    for await (const event of agent.stream('go')) {
      if (++count === 300) { console.log('ready'); leave() }
    }`,
  'a tool at work, and a listener': () => `
    const script = [[{ delta: { tool_call: { id: 'a', name: 't', arguments: {} } } }, { end: {} }]]
    const work = tool({ name: 't', execute: () => new Promise((resolve) => {
      console.log('ready')
      leave()
      setTimeout(resolve, 60_000)
    }) })
    const agent = new Agent({ model: { provider: 'scripted', id: 's', script }, tools: [work] })
    agent.subscribe(async () => {})
    await agent.prompt('go')`,
  'a hook, a middleware and a provider at work': () => `
    const script = () => [[{ delta: { tool_call: { id: 'a', name: 't', arguments: {} } } }, { end: {} }]]
    let begun = 0
    const stay = () => {
      if (++begun === 3) { console.log('ready'); leave() }
      return new Promise((resolve) => setTimeout(resolve, 60_000))
    }
    const tools = [tool({ name: 't', execute: stay })]
    const scripted = (options) => new Agent({ model: { provider: 'scripted', id: 's', script: script() }, tools, ...options })
    const agents = [
      scripted({ beforeToolCall: stay }),
      scripted({ middleware: [stay] }),
      new Agent({ model: 'acme/m', provider: async function* () { yield 'x'; await stay() } }),
    ]
    await Promise.all(agents.map((agent) => agent.prompt('go')))`,
  'a server that does not answer, and runs whose events are unread': (url) => `
    const agents = Array.from({ length: 4 }, () => new Agent({ model: 'company/tiny', baseUrl: '${url}' }))
    const runs = agents.map((agent) => agent.stream('go'))
    await Promise.all(runs.map(async (run) => { for (let i = 0; i < 4; i++) await run.next() }))
    console.log('ready')
    leave()
    await runs[0].next()`,
}

/** Runs a program twenty times, two concurrently, and checks how each ended. `options` may differ between the runs. */
async function many(t, name, leave, check, options = () => ({})) {
  const url = await mock(t, Array.from({ length: 4 * TIMES }, () => ({ body: '', stall: true })))
  const one = async (first) => {
    for (let i = first; i < TIMES; i += 2) {
      const text = `
        import { Agent, tool } from 'agent-loop'
        const leave = () => { ${leave(i)} }
        ${inFlight[name](url)}`
      check(await program(text, options(i)), i)
    }
  }
  await Promise.all([one(0), one(1)])
}

for (const name of Object.keys(inFlight)) {
  test(`process.exit with a run in flight: ${name}`, async (t) => {
    // At once, and some time later.
    const leave = (i) => (i % 4 < 2 ? 'process.exit(7)' : `setTimeout(() => process.exit(7), ${i / 4})`)
    await many(t, name, leave, ({ code, signal, errors }) => assert.deepEqual([code, signal, errors], [7, null, '']))
  })

  test(`Ctrl-C with a run in flight: ${name}`, async (t) => {
    // As it is, and in a program that says for itself what happens then.
    const handler = `data:text/javascript,${encodeURIComponent("process.once('SIGINT', () => process.exit(130))")}`
    const options = (i) => ({
      meanwhile: (child) => child.kill('SIGINT'),
      environment: i % 4 < 2 ? {} : { NODE_OPTIONS: `--import=${handler}` },
    })
    const check = ({ code, signal, errors }, i) => {
      // The stream is read on after `ready`, so it may come to its end first.
      const ended = code === 0 && name === 'a stream that is read'
      assert.ok(ended || (i % 4 < 2 ? signal === 'SIGINT' : code === 130), `${code} ${signal}`)
      assert.equal(errors, '')
    }
    await many(t, name, () => '', check, options)
  })
}

const start = `import { Agent, tool } from 'agent-loop'`

test('the process ends when its runs are over', async () => {
  const { code, output, errors } = await program(`${start}
    const agent = new Agent({ model: { provider: 'scripted', id: 's', script: [[{ delta: 'x' }, { end: {} }]] } })
    console.log((await agent.prompt('go')).text)`)
  assert.deepEqual([code, output, errors], [0, 'x\n', ''])
})

test('a run that is not awaited does not keep the process alive', async (t) => {
  const url = await mock(t, [{ body: '', stall: true }])
  const { code, output, errors } = await program(`${start}
    const agent = new Agent({ model: 'company/tiny', baseUrl: '${url}' })
    const run = agent.stream('go')
    for (let i = 0; i < 4; i++) console.log((await run.next()).value.type)`)
  assert.deepEqual([code, errors], [0, ''])
  assert.equal(output, 'agent_start\nturn_start\nmessage_start\nmessage_end\n')
})

for (const [what, wait] of Object.entries({
  next: 'for await (const event of agent.stream("go")) if (event.type === "text_delta") console.log(event.delta)',
  result: 'console.log((await agent.stream("go").result()).text)',
  prompt: 'console.log((await agent.prompt("go")).text)',
  waitForIdle: 'const run = agent.stream("go"); await agent.waitForIdle(); console.log(agent.messages[1].content[0].text)',
})) {
  test(`awaiting ${what} does`, async (t) => {
    const body = [
      { choices: [{ index: 0, delta: { content: 'late' } }] },
      { choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] },
    ]
      .map((frame) => `data: ${JSON.stringify(frame)}\n\n`)
      .join('')
    const url = await mock(t, [{ body: `${body}data: [DONE]\n\n`, delay_ms: 300 }])
    const { code, output, errors } = await program(`${start}
      const agent = new Agent({ model: 'company/tiny', baseUrl: '${url}' })
      ${wait}`)
    assert.deepEqual([code, output, errors], [0, 'late\n', ''])
  })
}

// Worker threads: each is a separate environment, on one runtime.

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { test } from 'node:test'
import { Worker } from 'node:worker_threads'

import { mock, says, scripted } from './helpers.mjs'

const index = JSON.stringify(new URL('../dist/index.mjs', import.meta.url).href)
const start = `
  const { parentPort, workerData } = require('node:worker_threads')
  const play = async ({ Agent, tool }) => {`
const end = `}
  import(${index}).then(play)`

function worker(text, workerData) {
  return new Worker(start + text + end, { eval: true, workerData })
}

test('agents work in a worker', async () => {
  const thread = worker(`
    const script = [
      [{ delta: { tool_call: { id: 'a', name: 't', arguments: {} } } }, { end: {} }],
      [{ delta: 'done' }, { end: {} }],
    ]
    const t = tool({ name: 't', execute: async (_, { sleep }) => { await sleep(10); return 'x' } })
    const agent = new Agent({ model: { provider: 'scripted', id: 's', script }, tools: [t] })
    const types = []
    agent.subscribe((event) => void types.push(event.type))
    const result = await agent.prompt('go')
    parentPort.postMessage([result.text, types.length])`)
  const [message] = await once(thread, 'message')
  assert.deepEqual(message, ['done', 22])
  assert.deepEqual(await once(thread, 'exit'), [0])
})

test('a worker can be terminated with active runs, and the others continue', async (t) => {
  const url = await mock(t, Array.from({ length: 60 }, () => ({ body: '', stall: true })))
  for (let i = 0; i < 20; i++) {
    const thread = worker(
      `
      const script = [[...Array.from({ length: 50_000 }, () => ({ delta: 'x' })), { end: {} }]]
      const streaming = new Agent({ model: { provider: 'scripted', id: 's', script } })
      void (async () => { for await (const event of streaming.stream('go')); })()
      const call = [{ delta: { tool_call: { id: 'a', name: 't', arguments: {} } } }, { end: {} }]
      const waits = tool({ name: 't', execute: (_, { signal }) => new Promise(() => {}) })
      const working = new Agent({ model: { provider: 'scripted', id: 's', script: [call] }, tools: [waits] })
      working.subscribe(async () => {})
      void working.prompt('go')
      const asking = new Agent({ model: 'company/tiny', baseUrl: workerData })
      const run = asking.stream('go')
      await run.next()
      parentPort.postMessage('ready')
      await run.result()`,
      url,
    )
    await once(thread, 'message')
    if (i % 2) await new Promise((resolve) => setTimeout(resolve, i))
    await thread.terminate()
  }
  assert.equal((await scripted([says('still here')]).prompt('go')).text, 'still here')
})

test('process.exit in a worker ends that worker', async () => {
  const thread = worker(`
    const script = [[{ delta: { tool_call: { id: 'a', name: 't', arguments: {} } } }, { end: {} }]]
    const t = tool({ name: 't', execute: () => process.exit(3) })
    await new Agent({ model: { provider: 'scripted', id: 's', script }, tools: [t] }).prompt('go')`)
  assert.deepEqual(await once(thread, 'exit'), [3])
  assert.equal((await scripted([says('still here')]).prompt('go')).text, 'still here')
})

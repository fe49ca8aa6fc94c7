// A worker for the tests: worker.mjs PORT [KILL_AT]. Serves the agents below on the port.
//
// With KILL_AT it kills itself: each of its writes to Restate has two points, before it and after it. What tools did is in the
// file $LEDGER. It ends when standard input does.

import { appendFileSync, existsSync, writeFileSync } from 'node:fs'
import http2 from 'node:http2'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

import { createEndpointHandler, service } from '@restatedev/restate-sdk'
import { tool } from 'agent-loop'
import { restateAgent, restateTool } from 'agent-loop/restate'

// Restate's SDK needs it, and Node has it since 22. The tests also run on 20.
Promise.withResolvers ??= function () {
  const made = {}
  made.promise = new this((resolve, reject) => Object.assign(made, { resolve, reject }))
  return made
}

const [port, killAt = 0] = process.argv.slice(2).map(Number)

function note(what) {
  appendFileSync(process.env.LEDGER, JSON.stringify({ ...what, pid: process.pid }) + '\n')
}

// A service that a tool calls.
const courier = service({
  name: 'courier',
  handlers: {
    deliver: async (ctx) => {
      note({ courier: ctx.request().id })
      await ctx.sleep({ hours: 1 })
    },
    // Fails the second input of a run.
    spoil: async (ctx, invocation) => ctx.invocation(invocation).signal('input-1').reject('spoilt'),
  },
})

const tools = [
  // Returns after the call about another city of the same message.
  tool({
    name: 'weather',
    parameters: { type: 'object', properties: { city: { type: 'string' }, after: { type: 'string' } }, required: ['city'] },
    execute: async ({ city, after }, { idempotencyKey: key }) => {
      note({ began: city, key })
      const gate = (name) => join(process.env.GATES, `${key.slice(0, key.lastIndexOf('/')).replaceAll('/', '-')}-${name}`)
      while (after !== undefined && !existsSync(gate(after))) await sleep(20)
      note({ ran: city, key })
      writeFileSync(gate(city), '')
      return `rain in ${city}`
    },
  }),
  tool({
    name: 'gate',
    parameters: { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] },
    execute: async ({ name }) => {
      note({ began: name })
      while (!existsSync(join(process.env.GATES, name))) await sleep(20)
      return 'open'
    },
  }),
  tool({
    name: 'forever',
    execute: async (_, { signal }) => {
      note({ began: 'forever' })
      await sleep(3_600_000, undefined, { signal })
    },
  }),
  tool({
    name: 'pay',
    parameters: { type: 'object', properties: { amount: { type: 'number' } }, required: ['amount'] },
    needsApproval: ({ amount }) => `${amount} euros`,
    execute: ({ amount }) => {
      note({ ran: `pay ${amount}` })
      return `paid ${amount}`
    },
  }),
  // Returns more than the agent `archiving` keeps, when the file of this name is there.
  tool({
    name: 'archive',
    parameters: { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] },
    needsApproval: true,
    execute: async ({ name }) => {
      note({ began: name })
      while (!existsSync(join(process.env.GATES, name))) await sleep(20)
      return 'archived '.repeat(1000)
    },
  }),
  tool({
    name: 'fail',
    execute: () => {
      note({ ran: 'fail' })
      throw new Error('no disk')
    },
  }),
  restateTool({
    name: 'nap',
    execute: async (_, { restate, idempotencyKey }) => {
      await restate.sleep(200)
      return `${await restate.run('nap', () => 'rested')} as ${idempotencyKey}`
    },
  }),
  restateTool({
    name: 'deliver',
    execute: async (_, { restate }) => {
      await restate.serviceClient(courier).deliver()
      return 'delivered'
    },
  }),
]

function agent(name, options = {}) {
  const model = { provider: 'openai', id: 'gpt-4.1', baseUrl: `${process.env.MOCK}/${name}/v1` }
  return restateAgent(name, { model, tools, apiKey: 'k', ...options })
}

const names = ['weather', 'parallel', 'gated', 'stalled', 'endless', 'approval', 'durable', 'refused', 'calling', 'failing']
const services = [courier, ...names.map((name) => agent(name)), agent('retried', { retryBaseMs: 200 })]
for (const name of ['bounded', 'swelling']) services.push(agent(name, { maxConversationBytes: 3000 }))
services.push(agent('archiving', { maxConversationBytes: 6000 }))
services.push(agent('late', { requestTimeoutMs: 200, maxRetries: 0 }))
const handler = createEndpointHandler({ services })

process.stdin.on('end', () => process.exit()).resume()

let points = 0
function atPoint() {
  if (++points !== killAt) return
  note({ killed: killAt })
  process.kill(process.pid, 'SIGKILL')
}

http2
  .createServer((request, response) => {
    if (request.url.startsWith('/invoke')) {
      const { write } = response
      response.write = function (...given) {
        atPoint()
        const done = write.apply(this, given)
        // What was written is on its way.
        setTimeout(atPoint, 20)
        return done
      }
    }
    handler(request, response)
  })
  .listen(port, '127.0.0.1', () => note({ worker: process.pid }))

// Odd callbacks of Node programs: they throw and return what only JavaScript has, and call back into their agent.
//
//     odd.mjs                       the short form: so many cases
//     odd.mjs --seconds 60          for so long, other cases each time
//     odd.mjs --seed N --case N     one case, as a failure names it
//
// A case is an agent with callbacks that a seed draws. Its runs end, their events are valid, and each call has one result.

import { parseArgs } from 'node:util'

import { Agent, AgentError, tool } from '../../bindings/node/dist/esm.mjs'
import { checkEvents } from '../../bindings/node/dist/testing.mjs'

const SHORT = 30
const SEED = 10
/** How long a case may take: far longer than the limits of its runs. */
const LONGEST_MS = 90_000
const LIMITS = {
  maxTurns: 3,
  maxRetries: 1,
  retryBaseMs: 1,
  runTimeoutMs: 1000,
  toolTimeoutMs: 300,
  abortGraceMs: 50,
  listenerTimeoutMs: 300,
  firstByteTimeoutMs: 500,
  idleTimeoutMs: 500,
}
const HOOKS = [
  'beforeToolCall afterToolCall transformContext convertToLlm getApiKey onPayload afterRun beforeRun onError',
  'shouldStopAfterTurn prepareNextTurn getSteeringMessages getFollowUpMessages',
].flatMap((names) => names.split(' '))

const throwing = () => {
  throw new Error('on purpose')
}
const never = () => new Promise(() => {})
const later = (ms) => new Promise((resolve) => setTimeout(resolve, ms))
const hostile = (target = {}) => new Proxy(target, Object.fromEntries(Reflect.ownKeys(Reflect).map((name) => [name, throwing])))
const revoked = (target = {}) => {
  const { proxy, revoke } = Proxy.revocable(target, {})
  revoke()
  return proxy
}
const cyclic = () => {
  const value = { content: [] }
  value.content.push(value)
  return value
}
const nested = (depth) => {
  let value = []
  for (let at = 0; at < depth; at++) value = [value]
  return value
}
const getting = (name) => Object.defineProperty({}, name, { enumerable: true, get: throwing })
/** An object that changes while it is read. */
const changing = () => {
  const value = { content: 'text', details: {} }
  const get = () => {
    delete value.content
    value[`more${Object.keys(value).length}`] = 1
    return 1
  }
  return Object.defineProperty(value, 'first', { enumerable: true, get })
}
/** A generator that fails when it is closed. */
function* unwilling() {
  try {
    for (;;) yield 'part'
  } finally {
    throwing()
  }
}
async function* unwillingLater() {
  try {
    for (;;) {
      yield { text: 'part' }
      await later(5)
    }
  } finally {
    throwing()
  }
}

const ODD = [
  () => hostile(), () => hostile(throwing), () => hostile([]), () => revoked(), () => revoked([]), () => [revoked()], cyclic,
  () => getting('content'), () => getting('toJSON'), () => getting('block'), () => getting('length'), changing, unwilling,
  unwillingLater, () => Symbol('s'), () => ({ [Symbol('s')]: 1, content: Symbol('t') }), () => 5n,
  () => ({ content: 10n ** 400n }),
  () => NaN, () => [-Infinity], () => '\ud800', () => ({ '\udfff': '\ud800' }), () => nested(100_000), () => nested(100),
  () => ({ toJSON: throwing }), () => ({ toJSON: () => cyclic() }), () => throwing, () => class {}, () => new Date(NaN),
  () => new Map([[{}, 1]]), () => Object.create(null), () => new Array(5), () => new Uint8Array(3), () => [{ role: 'user' }],
  () => ({ content: [{}, null, 5] }), () => null, () => undefined, () => 'fine', () => new Error('returned'), () => /x/g,
  () => ({ content: [{ type: 'text', text: { toString: throwing } }] }), () => new WeakRef({}), () => globalThis.process.env,
]
/** Thenables, which an `await` takes apart: never returned from inside of another one. */
const THENABLES = [
  () => ({ then: throwing }), () => getting('then'), () => ({ then: (resolve) => (resolve(1), resolve(2), throwing()) }),
  () => ({ then: (_, reject) => reject(revoked()) }), () => ({ then: (resolve) => resolve({ then: throwing }) }), never,
]
const THROWN = [
  ...ODD, () => Object.create(AgentError.prototype), () => Object.defineProperty(new Error('x'), 'message', { get: throwing }),
  () => Object.assign(new Error('round'), { cause: cyclic() }), () => new AggregateError([hostile()], '\ud800'),
]

/** A source of choices (mulberry32): the same seed makes the same choices on every machine. */
function randomOf(seed) {
  let state = seed >>> 0
  return (below) => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below
  }
}

/** An agent, and what its callbacks draw. */
class Case {
  wrong = []
  #random
  #oneIn
  #agent
  #unsubscribe = []

  constructor(seed, number) {
    this.#random = randomOf(Math.imul(seed, 0x9e3779b1) + number)
    this.#oneIn = this.#pick([1, 2, 5, 20])
  }

  #pick(list) {
    return list[this.#random(list.length)]
  }

  /** What a callback does: throws, calls back, or returns. */
  #behave(sensible) {
    if (this.#random(this.#oneIn)) return sensible
    const kind = this.#random(8)
    if (kind < 2) throw this.#pick(THROWN)()
    if (kind === 2) return Promise.reject(this.#pick(THROWN)())
    if (kind === 3) return this.#pick(THENABLES)()
    if (kind > 5) return this.#pick(ODD)()
    if (kind === 5) return this.#callBackLater().then(() => sensible)
    this.#callBack()
    return sensible
  }

  /** Calls what an application may call from inside, and what it may not. */
  #callBack() {
    const agent = this.#agent
    const odd = () => this.#pick(ODD)()
    const acts = [
      () => agent.abort(), () => agent.steer('from inside'), () => agent.followUp('from inside'), () => agent.clearAllQueues(),
      () => agent.steer(odd()), () => agent.stream('from inside'), () => agent.reset(), () => this.#listen(),
      () => agent.setOptions({ maxTurns: 1 }), () => agent.setOptions(odd()), () => agent.setOptions({ headers: odd() }),
      () => agent.appendMessage(odd()), () => agent.clearMessages(), () => this.#unsubscribe.pop()?.(),
      () => agent.subscribe(odd()), () => agent.setProvider(null, odd()), () => (agent.systemPrompt = odd()),
      () => JSON.stringify(agent), () => agent.messages,
    ]
    try {
      this.#pick(acts)()
    } catch {
      // It may be refused.
    }
  }

  async #callBackLater() {
    const agent = this.#agent
    const acts = [() => agent.prompt('from inside'), () => agent.resume(), () => agent.waitForIdle()]
    const error = await this.#pick(acts)().then(() => undefined, (error) => error)
    if (error instanceof AgentError && ['busy', 'invalid_state'].includes(error.kind)) return
    this.wrong.push(`a call from inside that would wait for itself gives ${error?.kind}: ${error?.message}`)
  }

  #listen() {
    if (this.#unsubscribe.length < 5) this.#unsubscribe.push(this.#agent.subscribe(() => this.#behave()))
  }

  *#chunks() {
    for (let at = this.#random(4); at > 0; at--) {
      const call = { toolCall: { id: `c${at}`, name: this.#pick(['a', 'b', 'c', 'd']), arguments: {} } }
      yield this.#behave(this.#pick([call, 'It rains.', { text: 'It rains.' }]))
    }
  }

  #provider() {
    const chunks = () => this.#chunks()
    const odd = [unwillingLater, () => this.#behave(), () => ({ [Symbol.asyncIterator]: () => ({ next: () => this.#behave() }) })]
    return this.#random(2) ? async function* () { yield* chunks() } : this.#pick(odd)
  }

  #make() {
    const call = (at) => ({ delta: { tool_call: { id: `c${at}`, name: this.#pick(['a', 'b', 'c', 'd']), arguments: {} } } })
    const end = { end: {} }
    const answers = () => [[call(0), call(1), call(2), end], [call(0), end], [{ delta: 'It rains.' }, end]]
    const script = [...answers(), ...answers(), ...answers()]
    const tools = ['a', 'b', 'c'].map((name) => {
      const prepare = this.#random(3) ? {} : { prepareArguments: (given) => this.#behave(given) }
      return tool({ name, description: 'A tool.', execute: () => this.#behave('ran'), ...prepare })
    })
    const options = { model: { provider: 'scripted', id: 's', script }, tools, ...LIMITS }
    if (!this.#random(3)) options.provider = this.#provider()
    if (this.#random(2)) options.middleware = [async (_, next) => this.#behave(this.#random(3) ? await next() : 'around')]
    for (const hook of HOOKS) if (!this.#random(4)) options[hook] = () => this.#behave()
    this.#agent = new Agent(options)
    this.#listen()
  }

  /** One run, in one of the ways there are. */
  async #run() {
    const kind = this.#random(4)
    const expected = (error) => {
      if (!(error instanceof AgentError)) throw error
    }
    if (kind === 0) await this.#agent.prompt('go').catch(expected)
    else {
      const events = []
      const leaves = kind === 1 ? 1 + this.#random(30) : undefined
      try {
        for await (const event of this.#agent.stream('go')) if (events.push(event) === leaves) break
      } catch (error) {
        expected(error)
      }
      if (leaves === undefined) checkEvents(events)
    }
    await this.#agent.waitForIdle()
  }

  async play() {
    this.#make()
    for (let run = 0; run < 2; run++) await this.#run()
    if (this.#agent.isStreaming) this.wrong.push('the agent is busy after its runs')
    const open = new Map()
    const count = (id, by) => open.set(id, (open.get(id) ?? 0) + by)
    const { messages } = this.#agent
    for (const message of messages) {
      if (message.role === 'tool_result') count(message.toolCallId, -1)
      else if (message.role === 'assistant') {
        for (const block of message.content) if (block.type === 'tool_call') count(block.id, 1)
      }
    }
    for (const [id, left] of open) if (left) this.wrong.push(`the call ${id} has ${1 - left} results`)
    // What is written can be read back.
    new Agent({ model: { provider: 'scripted', id: 's', script: [] }, messages: JSON.parse(JSON.stringify(messages)) })
  }
}

/** What is wrong with a case. */
async function play(seed, number, seen) {
  const played = new Case(seed, number)
  const timer = setTimeout(() => {
    console.log(`FAILED: odd.mjs --seed ${seed} --case ${number} does not end`)
    process.exit(1)
  }, LONGEST_MS)
  await played.play().catch((error) => played.wrong.push(error?.stack ?? String(error)))
  clearTimeout(timer)
  return [...played.wrong, ...seen.splice(0)]
}

async function main() {
  const options = Object.fromEntries(['seed', 'case', 'seconds'].map((name) => [name, { type: 'string' }]))
  const { values } = parseArgs({ options })
  const seconds = Number(values.seconds ?? 0)
  const seed = Number(values.seed ?? (seconds ? Math.floor(Date.now() / 1000) : SEED))
  console.log(`odd.mjs: --seed ${seed}`)
  const seen = []
  process.on('uncaughtException', (error) => seen.push(`an exception of the process: ${error?.stack}`))
  const [start, first] = [performance.now(), Number(values.case ?? 0)]
  const last = values.case === undefined ? SHORT : first + 1
  let [number, failed] = [first, 0]
  while (seconds ? performance.now() - start < seconds * 1000 : number < last) {
    const wrong = await play(seed, number, seen)
    if (wrong.length) {
      failed++
      console.log(`FAILED: odd.mjs --seed ${seed} --case ${number}: ${wrong.join('\n')}`)
    }
    number++
  }
  console.log(`played ${number - first} cases of odd callbacks in ${((performance.now() - start) / 1000).toFixed(1)} s`)
  console.log(`${failed ? 0 : 1} passed, ${failed ? 1 : 0} failed, 0 skipped`)
  process.exitCode = failed ? 1 : 0
}

await main()

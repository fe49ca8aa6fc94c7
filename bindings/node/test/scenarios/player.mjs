// Plays a scenario: makes the agent, takes the steps and records what happens. See docs/scenarios.md.

import assert from 'node:assert/strict'
import { setImmediate } from 'node:timers/promises'

import { Agent, resume, run, streamComplete, tool } from 'agent-loop'

/** A value as the canonical JSON has it. */
const canonical = (value) => JSON.parse(JSON.stringify(value))

/** An option's or field's name in this language. */
const camel = (name) => name.replace(/_(.)/g, (_, letter) => letter.toUpperCase())

/** An object with its own names, but not those inside of it, in this language. */
const camelNames = (object) => Object.fromEntries(Object.entries(object).map(([name, value]) => [camel(name), value]))

/** Whether a value contains another: objects may have more fields, all else is equal, and null is in everything. */
export function contains(value, wanted) {
  if (wanted === null || wanted === undefined) return true
  if (typeof wanted !== 'object' || Array.isArray(wanted)) return JSON.stringify(value) === JSON.stringify(wanted)
  if (typeof value !== 'object' || value === null) return false
  return Object.keys(wanted).every((key) => key in value && contains(value[key], wanted[key]))
}

/** An idempotency key, which begins with the id of a run, with `run` in its place. */
const ofRun = (key) => `run${key.slice(key.indexOf('/'))}`

/** A result with such keys. */
const withKeysOfRun = (result) =>
  JSON.parse(JSON.stringify(result), (name, value) => {
    if (name === 'origin') return 'run'
    return name === 'idempotency_key' ? ofRun(value) : value
  })

/** A promise that is never settled. The application holds it: the library notices one that is garbage-collected. */
class Never {
  constructor() {
    this.promise = new Promise((resolve) => (this.resolve = resolve))
  }
}

/** The application of one scenario. */
class Application {
  log = []
  #gates = new Map()
  #waiting = []
  #listeners
  #unsubscribe = new Map()
  #never = []

  /** Sets the agent, whose tools and hooks act on this application. */
  open(agent, listeners) {
    this.agent = agent
    this.#listeners = listeners
    listeners.forEach((listener, place) => listener.later || this.#subscribe(place))
  }

  #subscribe(place) {
    const { on, nth, do: behaviour } = this.#listeners[place]
    let seen = 0
    const listen = (event) => {
      if (!contains(canonical(event), on) || (++seen !== nth && nth !== undefined)) return undefined
      return this.behave(behaviour, null, { event })
    }
    this.#unsubscribe.set(place, this.agent.subscribe(listen))
  }

  /** Takes the actions in order. Returns `value` unless an action returns another, and throws what an action throws. */
  async behave(behaviour, value, actor) {
    for (const action of behaviour) {
      const [[name, given]] = Object.entries(action)
      switch (name) {
        case 'return':
          return given
        case 'throw':
          throw new Error(given)
        case 'never':
          this.#never.push(new Never())
          return this.#never.at(-1).promise
        case 'sleep_ms':
          await actor.context.sleep(given)
          break
        case 'update':
          actor.context.update(given)
          break
        case 'suspend':
          throw actor.context.suspend(given)
        case 'log_key':
          this.log.push(ofRun(actor.context.idempotencyKey))
          break
        case 'next':
          value = await actor.next(given.arguments)
          break
        case 'keep_last':
          value = given === 0 ? [] : value.slice(-given)
          break
        case 'append':
          value = [...value, ...given]
          break
        case 'roles':
          value = value.map((message) => {
            const role = given[message.role]
            return role ? { role, content: [{ type: 'text', text: message.text }], timestamp: 0 } : message
          })
          break
        case 'log':
          this.log.push(actor.event ? given.replaceAll('$type', actor.event.type) : given)
          this.#wake()
          break
        case 'gate':
          await this.#until(() => this.#gates.has(given))
          break
        default:
          await this.act(name, given).catch((error) => {
            if (error.kind === undefined) throw error
            this.log.push(`${name}: ${error.kind}`)
            this.#wake()
          })
      }
    }
    return value
  }

  /** The actions of every actor. */
  async act(name, given) {
    const { agent } = this
    switch (name) {
      case 'steer':
      case 'follow_up':
      case 'append_message':
      case 'replace_messages':
        return agent[camel(name)](given)
      case 'abort':
      case 'reset':
      case 'clear_messages':
      case 'stop_after_turn':
      case 'clear_steering_queue':
      case 'clear_follow_up_queue':
      case 'clear_all_queues':
      case 'wait_for_idle':
        return agent[camel(name)]()
      case 'forget':
        return agent.forget(given ?? undefined)
      case 'set':
        return agent.setOptions(camelNames(given))
      case 'subscribe':
      case 'unsubscribe': {
        const place = this.#listeners.findIndex((listener) => listener.name === given)
        if (name === 'subscribe') return this.#subscribe(place)
        return this.#unsubscribe.get(place)()
      }
      case 'log_steer':
      case 'log_follow_up': {
        const method = name.slice('log_'.length)
        return this.log.push(`${method}: ${agent[camel(method)](given)}`)
      }
      case 'log_queued':
        return this.log.push(`queued: ${agent.hasQueuedMessages()}`)
      case 'log_state': {
        const { messages, isStreaming, streamingMessage, pendingToolCalls, error } = agent
        const content = streamingMessage && canonical(streamingMessage).content
        const fields = [isStreaming, content, pendingToolCalls, error && error.kind].map((value) => JSON.stringify(value))
        return this.log.push(`${messages.length} messages, ${fields.join(', ')}`)
      }
      case 'open':
        this.#gates.set(given, true)
        return this.#wake()
      case 'wait_log':
        return this.#until(() => this.log.includes(given))
      // In callbacks, where they are refused.
      case 'prompt':
        return void agent.stream(given)
      case 'resume':
        return void agent.streamResume()
      case 'resume_if_queued':
        return void agent.streamResumeIfQueued()
      default:
        throw new TypeError(`unknown action ${JSON.stringify(name)}`)
    }
  }

  /** The state in canonical JSON. */
  state() {
    const { systemPrompt, model, thinkingLevel, tools, messages, pending, remembered } = this.agent
    const { isStreaming, streamingMessage, pendingToolCalls, error, listenerErrors } = this.agent
    return canonical({
      system_prompt: systemPrompt,
      model,
      thinking_level: thinkingLevel,
      tools: tools.map((tool) => tool.name),
      messages,
      is_streaming: isStreaming,
      streaming_message: streamingMessage,
      pending_tool_calls: pendingToolCalls,
      ...(pending.length > 0 && { pending }),
      ...(remembered.allow.length + remembered.deny.length > 0 && { remembered }),
      error,
      listener_errors: listenerErrors,
    })
  }

  #wake() {
    this.#waiting = this.#waiting.filter(({ done, resolve }) => !done() || resolve())
  }

  /** Waits for another actor. */
  #until(done) {
    return new Promise((resolve) => {
      this.#waiting.push({ done, resolve })
      this.#wake()
    })
  }
}

/** Returns the behaviour of the next call each time; the last one holds for all further calls. */
function counted(behaviours) {
  let count = 0
  return () => behaviours[Math.min(count++, behaviours.length - 1)] ?? []
}

/** Hooks that get one field of their input, or none. */
const FIELDS = {
  transform_context: 'messages',
  convert_to_llm: 'messages',
  get_api_key: 'provider',
  before_run: 'prompts',
  check_output: 'output',
}
const WITHOUT = ['get_steering_messages', 'get_follow_up_messages']

function makeTool({ calls, prepare, approve, ...spec }, application) {
  const next = counted(calls)
  const options = { ...camelNames(spec), execute: (_, context) => application.behave(next(), null, { context }) }
  if (prepare) {
    const nextPrepared = counted(prepare)
    options.prepareArguments = (args, context) => application.behave(nextPrepared(), args, { context })
  }
  if (approve) {
    const nextApproval = counted(approve)
    options.needsApproval = (_, context) => application.behave(nextApproval(), null, { context })
  }
  return tool(options)
}

/** The hooks of a scenario. They also record their input and the requests. */
function makeHooks(scenario, application, requests, inputs) {
  const make = (name) => {
    const next = scenario.hooks?.[name] && counted(scenario.hooks[name])
    return async (...given) => {
      const context = given.pop()
      const [value] = canonical(given)
      const input = name in FIELDS ? { [FIELDS[name]]: value } : WITHOUT.includes(name) ? {} : value
      if (name === 'on_payload') requests.push(input.payload)
      if (!next) return undefined
      const { payload, ...rest } = input
      if ('outcome' in rest) delete rest.messages
      // As MCP has it, in its own spelling.
      if (name === 'on_mcp_sampling') rest.request = given[0].request
      inputs.push({ hook: name, input: rest })
      return application.behave(next(), FIELDS[name] === 'messages' ? value : null, { context })
    }
  }
  const names = new Set([...Object.keys(scenario.hooks ?? {}), 'on_payload'])
  return Object.fromEntries([...names].map((name) => [camel(name), make(name)]))
}

/** The tools of an agent, those that run agents last. */
function makeTools(given, application) {
  const tools = (given.tools ?? []).map((spec) => makeTool(spec, application))
  for (const { model, spec, options, tools: own, subagents, handoff, ...fields } of given.subagents ?? []) {
    const scripted = { provider: 'scripted', id: 'scenario', script: model, ...spec }
    const inner = makeTools({ tools: own, subagents }, application)
    const agent = new Agent({ ...camelNames(options ?? {}), model: scripted, tools: inner })
    tools.push(handoff ? agent.asHandoff(camelNames(fields)) : agent.asTool(camelNames(fields)))
  }
  return tools
}

function makeMiddleware(behaviours, application) {
  const nextBehaviour = counted(behaviours)
  return ({ context }, next) => application.behave(nextBehaviour(), null, { context, next })
}

/** Options that one model call refuses. */
const OF_THE_LOOP = [
  'middleware',
  'beforeToolCall',
  'prepareNextTurn',
  'shouldStopAfterTurn',
  'getSteeringMessages',
  'getFollowUpMessages',
]

/** The session of an agent, opened again, has the agent's conversation. */
async function checkKept(agent, store) {
  const had = JSON.parse(agent.export())
  await agent.session.close()
  const model = { provider: 'scripted', id: 's', script: [] }
  const other = new Agent({ model, session: store.session(agent.session.id) })
  assert.deepEqual([JSON.parse(other.export()), other.interrupted], [had, null])
  await other.session.close()
}

let plays = 0

/**
 * Plays a scenario; returns the result in the form of its `expected.json`. With a store, the agent has a session, whose id stands
 * for the run's in keys.
 */
export async function play(scenario, store) {
  const application = new Application()
  const [requests, inputs, runs, steps] = [[], [], [], []]
  const tools = makeTools(scenario, application)
  const { system_prompt: systemPrompt = '', messages, ...options } = scenario.options ?? {}
  // A process may play it twice: each time it is another limiter.
  if (options.limiter) options.limiter = { ...options.limiter, name: `of play ${++plays}` }
  const settings = {
    model: { provider: 'scripted', id: 'scenario', script: scenario.model, ...scenario.spec },
    ...camelNames(options),
    ...makeHooks(scenario, application, requests, inputs),
    middleware: (scenario.middleware ?? []).map((behaviours) => makeMiddleware(behaviours, application)),
  }
  // An agent with a session refuses the option.
  const begun = store ? { session: store.session('run') } : { messages }
  let agent = new Agent({ ...settings, systemPrompt, tools, ...begun })
  if (store && messages) agent.replaceMessages(messages)
  application.open(agent, scenario.listeners ?? [])

  /** Reads a run to its end. */
  const finish = async (started) => {
    const events = []
    let raised
    try {
      for await (const event of started) {
        const fields = { ...canonical(event), run_id: 'run' }
        if (fields.type === 'subagent_event') fields.event.run_id = 'run'
        events.push(fields)
      }
    } catch (error) {
      if (events.at(-1)?.outcome !== 'error') throw error
      raised = error
    }
    const result = await started.result().catch((error) => {
      if (error.result === undefined) throw error
      assert.equal(raised, error, 'the iteration raises what the result does')
      return error.result
    })
    assert.equal(raised === undefined, result.outcome !== 'error')
    const { messages, ...rest } = canonical(result)
    runs.push({ events, result: rest })
    return { outcome: result.outcome }
  }

  const loop = ({ prompt, queue, decisions, ...context }) => {
    // The run awaits this hook before it reads the queue.
    const beforeRun = settings.beforeRun ?? (() => setImmediate())
    const given = { systemPrompt: context.system_prompt ?? '', messages: context.messages, tools }
    const options = { ...settings, beforeRun }
    const started = prompt === undefined ? resume(given, { ...options, decisions }) : run(given, prompt, options)
    for (const [name, message] of Object.entries(queue ?? {})) started[camel(name)](message)
    return finish(started)
  }

  let background
  const does = {
    prompt: (prompt) => finish(agent.stream(prompt)),
    resume: ({ decisions }) => finish(agent.streamResume({ decisions })),
    resume_if_queued: () => {
      const started = agent.streamResumeIfQueued()
      return started === null ? { resume_if_queued: null } : finish(started)
    },
    run: loop,
    resume_context: loop,
    complete: ({ messages, system_prompt: systemPrompt, abort = false }) => {
      const used = Object.entries(settings).filter(([name]) => !OF_THE_LOOP.includes(name))
      const { model, ...options } = Object.fromEntries(used)
      // The call awaits this hook before it begins.
      const beforeRun = settings.beforeRun ?? (() => setImmediate())
      const started = streamComplete(model, messages, { ...options, beforeRun, systemPrompt, tools })
      if (abort) started.abort()
      return finish(started)
    },
    start: (prompt) => {
      background = agent.stream(prompt)
      return { start: 'ok' }
    },
    finish: () => finish(background),
    has_queued_messages: () => ({ has_queued_messages: agent.hasQueuedMessages() }),
    state: () => ({ state: application.state() }),
    export: () => ({ export: JSON.parse(agent.export()) }),
    from_export: (given) => {
      // Listeners stay with the agent before: scenarios with this step have none.
      agent = application.agent = Agent.fromExport(JSON.stringify(given), { ...settings, systemPrompt, tools })
      return { from_export: 'ok' }
    },
  }
  for (const step of scenario.steps) {
    const [[name, given]] = Object.entries(step)
    const done = async () => (does[name] ? does[name](given) : application.act(name, given).then(() => ({ [name]: 'ok' })))
    steps.push(
      await done().catch((error) => {
        if (error.kind === undefined) throw error
        return { error: error.kind }
      }),
    )
  }
  // An agent of an export has none.
  if (agent.session !== null) await checkKept(agent, store)
  const state = application.state()
  // The state in JSON has the tools of MCP servers, too.
  if (scenario.options?.mcp) state.tools.push(...(await agent.mcpTools()).map((tool) => tool.name))
  return withKeysOfRun({ steps, runs, requests, hooks: inputs, log: application.log, state })
}

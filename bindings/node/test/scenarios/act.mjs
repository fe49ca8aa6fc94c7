// Actions of a story: what the application does in steps, tools, hooks, middleware and listeners. See docs/scenarios.md.

/** A value as the canonical JSON has it. */
export const canonical = (value) => JSON.parse(JSON.stringify(value))

/** An option's or field's name in this language. */
export const camel = (name) => name.replace(/_(.)/g, (_, letter) => letter.toUpperCase())

/** An object with its own names, but not those inside of it, in this language. */
export const camelNames = (object) => Object.fromEntries(Object.entries(object).map(([name, value]) => [camel(name), value]))

/** Whether an event contains what is asked for: objects may have more, all else is equal. */
function contains(event, wanted) {
  if (wanted === null || wanted === undefined) return true
  if (typeof wanted !== 'object' || Array.isArray(wanted)) return JSON.stringify(event) === JSON.stringify(wanted)
  return typeof event === 'object' && event !== null && Object.keys(wanted).every((key) => key in event && contains(event[key], wanted[key]))
}

/** What never comes. Held by its stage: what is forgotten is noticed, and that is another story. */
class Never {
  constructor() {
    this.promise = new Promise((resolve) => (this.resolve = resolve))
  }
}

/** One story's application. */
export class Stage {
  log = []
  #gates = new Map()
  #waiting = []
  #listeners
  #unsubscribe = new Map()
  #never = []

  /** Takes up the agent, whose tools and hooks act on this stage. */
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

  /** Does one thing after the other. Gives what is returned, `value` where nothing is, and throws what is thrown. */
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

  /** What every actor can do. */
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
      case 'clear_steering_queue':
      case 'clear_follow_up_queue':
      case 'clear_all_queues':
      case 'wait_for_idle':
        return agent[camel(name)]()
      case 'set':
        return agent.setOptions(camelNames(given))
      case 'subscribe':
      case 'unsubscribe': {
        const place = this.#listeners.findIndex((listener) => listener.name === given)
        if (name === 'subscribe') return this.#subscribe(place)
        return this.#unsubscribe.get(place)()
      }
      case 'log_queued':
        return this.log.push(`queued: ${agent.hasQueuedMessages()}`)
      case 'log_state': {
        const { messages, isStreaming, streamingMessage, pendingToolCalls, error } = agent
        const content = streamingMessage && canonical(streamingMessage).content
        const said = [isStreaming, content, pendingToolCalls, error && error.kind].map((value) => JSON.stringify(value))
        return this.log.push(`${messages.length} messages, ${said.join(', ')}`)
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
      default:
        throw new TypeError(`unknown action ${JSON.stringify(name)}`)
    }
  }

  /** The state in canonical JSON. */
  state() {
    const { systemPrompt, model, thinkingLevel, tools, messages, isStreaming, streamingMessage, pendingToolCalls, error, listenerErrors } = this.agent
    return canonical({
      system_prompt: systemPrompt,
      model,
      thinking_level: thinkingLevel,
      tools: tools.map((tool) => tool.name),
      messages,
      is_streaming: isStreaming,
      streaming_message: streamingMessage,
      pending_tool_calls: pendingToolCalls,
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

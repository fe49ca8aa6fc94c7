/** What an agent consists of: the native one, and the functions that its options and setters give it. */

import type { Of } from './async-context.js'
import { bridge, enter, nextNumber } from './bridge.js'
import { Callbacks } from './callbacks.js'
import { canonical, snakeCase } from './canonical.js'
import { CALL } from './context.js'
import type { ToolContext } from './context.js'
import { expectFunction, invalidArgument } from './errors.js'
import { HOOKS, runHook } from './hook.js'
import type { HookName, Hooks } from './hook.js'
import { jsonOfArgument } from './json.js'
import { runMiddleware } from './middleware.js'
import type { Middleware } from './middleware.js'
import type { NativeAgent, NativeCall, NativeTool } from './native.js'
import { native } from './native.js'
import { isObject, kindOf, shown } from './object.js'
import type { AgentOptions } from './options.js'
import { Answers, typedOf } from './output.js'
import type { Typed } from './output.js'
import { runProvider } from './provider.js'
import { Requests, promptTaken } from './requests.js'
import type { Provider } from './provider.js'
import { takeTraces } from './traces.js'
import { Tool, approveCall, prepareCall, runTool } from './tool.js'

/** @internal The native agent and its callbacks. */
export interface AgentParts {
  readonly native: NativeAgent
  readonly callbacks: Callbacks
  readonly answers: Answers
  readonly requests: Requests
  /** What the application gives its tools and hooks. */
  readonly deps: unknown
  /** The functions that it was given, for others of the same configuration. */
  readonly given: Given
}

/** @internal The functions that an agent was given. */
export interface Given {
  tools: readonly Tool[]
  readonly hooks: Map<HookName, Hooks[HookName] | null>
  readonly middleware: Middleware[]
  /** By name; the one without a name under ''. */
  readonly providers: Map<string, Provider>
}

/** @internal What a run has of its own: options as JSON, the type of its answer, and what its tools and hooks get. */
export interface PromptParts {
  readonly text: string | undefined
  readonly typed: Typed | undefined
  readonly deps: unknown
  /** The call that it works for. */
  readonly call: NativeCall | undefined
}

/** @internal Creates a native agent and its callbacks. For a stateless run, errors know its options too. */
export function makeAgent(options: object, isStateless = false): AgentParts {
  if (isStateless && 'session' in options) {
    throw invalidArgument('option "session": a run without an agent has no conversation to keep; give it to an Agent')
  }
  const callbacks = new Callbacks()
  const { tools, middleware, provider, providers, plugins, deps, ...others } = options as Partial<AgentOptions>
  const hooks = HOOKS.filter((name) => name in others).map((name) => {
    const hook = others[name]
    delete others[name]
    return [name, hook] as const
  })
  // Null is no value, as of any option.
  const numbers = keepProviders(callbacks, provider, providers ?? {})
  const answers = new Answers()
  answers.own = takeOutput(others)
  callbacks.tracerProvider = takeTraces(others)
  const requests = new Requests()
  requests.prompt = promptTaken(others)
  const text = optionsJson(others, undefined, isStateless)
  const paths = pluginPaths(plugins ?? [])
  const made = enter(() => new native.Agent(bridge, callbacks.number, text, numbers, paths, isStateless))
  const named = Object.entries(providers ?? {}).concat(provider ? [['', provider]] : [])
  const given = { tools: [], hooks: new Map(), middleware: [], providers: new Map(named) }
  const parts: AgentParts = { native: made, callbacks, answers, requests, deps, given }
  setTools(parts, tools ?? [])
  for (const [name, hook] of hooks) setHook(parts, name, hook ?? null)
  askAboutAnswers(parts, answers.own)
  if (requests.prompt !== undefined) askAboutRequests(parts)
  const links: unknown = middleware ?? []
  if (!Array.isArray(links)) throw invalidArgument(`option "middleware": expected a list of functions, got ${kindOf(links)}`)
  for (const [i, link] of links.entries()) addMiddleware(parts, link as Middleware, `option "middleware": [${i}]`)
  return parts
}

/** @internal Another agent of the same configuration, with these messages (JSON) and callbacks of its own. */
export function forkAgent(parts: AgentParts, messages: string): AgentParts {
  const callbacks = new Callbacks()
  const made = enter(() => parts.native.fork(callbacks.number, messages))
  const answers = new Answers()
  ;[answers.own, answers.check] = [parts.answers.own, parts.answers.check]
  callbacks.tracerProvider = parts.callbacks.tracerProvider
  const requests = new Requests()
  ;[requests.prompt, requests.hook] = [parts.requests.prompt, parts.requests.hook]
  const { tools, hooks, middleware, providers } = parts.given
  const given: Given = { tools: [], hooks: new Map(), middleware: [], providers: new Map() }
  const forked: AgentParts = { native: made, callbacks, answers, requests, deps: parts.deps, given }
  for (const [name, provider] of providers) setProvider(forked, name === '' ? null : name, provider)
  setTools(forked, tools)
  for (const [name, hook] of hooks) setHook(forked, name, hook)
  for (const link of middleware) addMiddleware(forked, link, 'middleware')
  askAboutAnswers(forked, answers.own)
  askAboutRequests(forked)
  return forked
}

/** The type of the answer among options, of which the engine gets the JSON. */
function takeOutput(options: { output?: unknown }): Typed | undefined {
  const typed = typedOf(options.output)
  if (typed !== undefined) options.output = typed.json
  return typed
}

/** Has the engine ask about answers whose type is more than their JSON Schema. */
function askAboutAnswers({ native, callbacks, answers }: AgentParts, typed: Typed | undefined): void {
  if (!answers.isAsked(typed)) return
  const number = callbacks.keep((call, causes) => runHook('checkOutput', answers.hook, call, causes), ofHook('checkOutput'))
  enter(() => native.setHook('check_output', number))
}

/** Has the engine ask before each request, or not any more. */
function askAboutRequests({ native, callbacks, requests }: AgentParts): void {
  const ask = (): number =>
    callbacks.keep((call, causes) => runHook('prepareRequest', requests.prepare, call, causes), ofHook('prepareRequest'))
  const number = requests.isAsked ? ask() : undefined
  enter(() => native.setHook('prepare_request', number))
}

/** @internal The options of one run as JSON, and the type of its answer, which the run about to begin has. */
export function promptOptions(parts: AgentParts, options: object): PromptParts {
  const { deps = parts.deps, within, ...given } = options as { deps?: unknown; within?: unknown; output?: unknown }
  const call = within === undefined || within === null ? undefined : callOf('option "within"', within)
  const misplaced = Object.keys(given).find((name) => ELSEWHERE.has(name) || HOOKS.includes(name as HookName))
  if (misplaced !== undefined) {
    const name = JSON.stringify(misplaced)
    throw invalidArgument(`option ${name}: it is the agent's, and the same for all of its runs; give it to the agent`)
  }
  const typed = takeOutput(given)
  const text = Object.keys(given).length === 0 ? undefined : valuesJson(given, null)
  askAboutAnswers(parts, typed)
  return { text, typed, deps, call }
}

/** @internal The call of a tool's context; none where the tool is called outside of a run. */
export function callOf(what: string, context: unknown): NativeCall | undefined {
  if (isObject(context) && typeof context.idempotencyKey === 'string') return (context as unknown as ToolContext)[CALL]
  throw invalidArgument(`${what}: expected what a tool gets as its second argument, got ${kindOf(context)}`)
}

function pluginPaths(paths: readonly string[]): string[] {
  if (Array.isArray(paths) && paths.every((path) => typeof path === 'string')) return paths
  throw invalidArgument(`option "plugins": expected a list of paths, got ${kindOf(paths)}`)
}

/** The numbers of the providers' callbacks, by name; of the one without a name under ''. */
function keepProviders(
  callbacks: Callbacks,
  provider: Provider | undefined,
  named: Readonly<Record<string, Provider>>,
): Record<string, number> {
  if (!isObject(named)) throw invalidArgument(`option "providers": expected an object of functions by name, got ${kindOf(named)}`)
  const all = Object.entries(named)
  for (const [name, one] of all) {
    expectProviderName(name)
    expectFunction(`option "providers": ${JSON.stringify(name)}`, one)
  }
  if (provider) {
    expectFunction('option "provider"', provider)
    all.push(['', provider])
  }
  return Object.fromEntries(all.map(([name, one]) => [name, callbacks.keep((call, causes) => runProvider(one, call, causes))]))
}

/** Only the one without a name, which the engine has, is called ''. */
function expectProviderName(name: string): void {
  if (name === '') throw invalidArgument('provider "": expected a name, as models of it have it: "name/id"')
}

/** @internal Sets the custom provider of this name (null: the one without a name), or with null removes it. */
export function setProvider({ native, callbacks, given }: AgentParts, name: string | null, provider: Provider | null): void {
  if (name !== null && typeof name !== 'string') throw invalidArgument(`setProvider: expected a name, got ${kindOf(name)}`)
  if (provider !== null) expectFunction('setProvider', provider)
  const number = provider === null ? undefined : callbacks.keep((call, causes) => runProvider(provider, call, causes))
  enter(() => native.setProvider(name ?? undefined, number))
  if (provider === null) given.providers.delete(name ?? '')
  else given.providers.set(name ?? '', provider)
}

/** What `Agent.setOptions` does not set, hooks aside, and what does. */
const ELSEWHERE: ReadonlyMap<string, string> = new Map([
  ['tools', 'agent.tools = [ … ]'],
  ['messages', 'replaceMessages'],
  ['session', 'the constructor'],
  ['middleware', 'addMiddleware'],
  ['provider', 'setProvider'],
  ['providers', 'setProvider'],
  ['plugins', 'addPlugin'],
  ['deps', "the constructor, or prompt('…', { deps })"],
])

/** @internal Changes options of an agent. */
export function setOptions(parts: AgentParts, options: object): void {
  const changed: { output?: unknown; systemPrompt?: unknown; traces?: unknown } = { ...options }
  const tracerProvider = takeTraces(changed)
  const isTyped = 'output' in changed
  const typed = takeOutput(changed)
  const prompt = promptTaken(changed)
  const text = changesJson(changed)
  enter(() => parts.native.setOptions(text))
  if ('traces' in changed) parts.callbacks.tracerProvider = tracerProvider
  if ('systemPrompt' in changed) {
    parts.requests.prompt = prompt
    askAboutRequests(parts)
  }
  if (isTyped) parts.answers.own = typed
  askAboutAnswers(parts, typed)
}

/** The options that `Agent.setOptions` changes, as JSON. */
function changesJson(options: object): string {
  for (const name of Object.keys(options)) {
    const way = HOOKS.includes(name as HookName) ? 'setHook' : ELSEWHERE.get(name)
    if (way !== undefined) throw invalidArgument(`option ${JSON.stringify(name)} is not a plain value; use ${way}`)
  }
  return optionsJson(options, null)
}

/** The options as JSON; an undefined one is left out, or is `missing`. */
function optionsJson(options: object, missing?: null, isStateless = false): string {
  try {
    return valuesJson(options, missing)
  } catch (error) {
    // An unknown name is the likelier mistake, as of a hook, whose value is a function: it is reported first.
    checkNames(Object.keys(options), isStateless)
    throw error
  }
}

/** Fails for the name of an option that there is not. An agent that is made only for this reads them. */
function checkNames(names: readonly string[], isStateless: boolean): void {
  const options = Object.fromEntries(names.map((name) => [name, null]))
  const text = JSON.stringify({ ...options, model: { provider: 'scripted', id: 'none', script: [] } })
  enter(() => new native.Agent(bridge, nextNumber(), text, {}, [], isStateless))
}

function valuesJson(options: object, missing: null | undefined): string {
  const texts: string[] = []
  for (const [name, value] of Object.entries(options)) {
    const given = value === undefined ? missing : name === 'messages' ? canonical(value) : value
    if (given === undefined) continue
    texts.push(`${JSON.stringify(name)}:${jsonOfArgument(`option ${JSON.stringify(name)}`, given)}`)
  }
  return `{${texts.join(',')}}`
}

/** @internal Replaces an agent's tools. On an error nothing changes. */
export function setTools({ native, callbacks, given }: AgentParts, tools: readonly Tool[]): void {
  const list = nativeTools(tools)
  const execute = tools.map((tool) => callbacks.keep((call, causes) => runTool(tool, call, causes)))
  const prepare = tools.map(({ prepareArguments: prepare }) => {
    return prepare && callbacks.keep((call, causes) => prepareCall(prepare, call, causes))
  })
  const approve = tools.map(({ needsApproval: approve }) => {
    return typeof approve === 'function' ? callbacks.keep((call, causes) => approveCall(approve, call, causes)) : undefined
  })
  enter(() => native.setTools(list, execute, prepare, approve))
  given.tools = [...tools]
}

function nativeTools(tools: readonly Tool[]): NativeTool[] {
  if (!Array.isArray(tools)) {
    throw invalidArgument(`option "tools": expected a list of tools, each made with tool({ … }), got ${kindOf(tools)}`)
  }
  return tools.map((item: unknown, index) => {
    const inside = Tool.inside(item)
    if (inside) return inside
    throw invalidArgument(`option "tools": [${index}]: expected a tool made with tool({ … }), got ${kindOf(item)}`)
  })
}

/** What a hook sets in an AsyncLocalStorage is for. */
function ofHook(name: HookName): Of {
  return name === 'beforeToolCall' ? 'before call' : name === 'afterToolCall' ? 'after call' : 'run'
}

/** @internal Sets a hook, or with null removes it. */
export function setHook(parts: AgentParts, name: HookName, hook: Hooks[HookName] | null): void {
  const { native, callbacks, answers } = parts
  if (!HOOKS.includes(name)) throw invalidArgument(`unknown hook ${shown(name)}; known are ${HOOKS.join(', ')}`)
  if (hook !== null) expectFunction(`hook ${JSON.stringify(name)}`, hook)
  parts.given.hooks.set(name, hook)
  if (name === 'checkOutput') {
    // It gets what the schema makes of the answer.
    answers.check = (hook as Hooks['checkOutput'] | null) ?? undefined
    if (answers.isAsked(answers.own)) return askAboutAnswers(parts, answers.own)
  }
  if (name === 'prepareRequest') {
    parts.requests.hook = (hook as Hooks['prepareRequest'] | null) ?? undefined
    return askAboutRequests(parts)
  }
  const number = hook === null ? undefined : callbacks.keep((call, causes) => runHook(name, hook, call, causes), ofHook(name))
  enter(() => native.setHook(snakeCase(name), number))
}

/** @internal Adds a middleware, as the innermost. */
export function addMiddleware({ native, callbacks, given }: AgentParts, middleware: Middleware, what: string): void {
  expectFunction(what, middleware)
  const number = callbacks.keep((call, causes) => runMiddleware(middleware, call, causes))
  enter(() => native.addMiddleware(number))
  given.middleware.push(middleware)
}

// Helpers of several tests: scripted models, the mock server, child processes.

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

import { Agent, tool } from 'agent-loop'

export const packageFolder = fileURLToPath(new URL('..', import.meta.url))
export const projectFolder = fileURLToPath(new URL('../../..', import.meta.url))

/** Returns the exports of a module of the package, by its name in `lib`. */
export function moduleOf(name) {
  return createRequire(import.meta.url)('../dist/modules.js')(`./${name}.js`)
}

/** Returns an agent whose model gives these answers. */
export function scripted(script, options = {}) {
  return new Agent({ model: { provider: 'scripted', id: 's', script }, ...options })
}

/** An answer of text. */
export const says = (text) => [{ delta: text }, { end: {} }]

/** An answer that calls tools: `calls(['a', 'tool', { … }], …)`. */
export const calls = (...list) => [
  ...list.map(([id, name, args = {}]) => ({ delta: { tool_call: { id, name, arguments: args } } })),
  { end: {} },
]

/** Returns a tool with this name and function. */
export const does = (name, execute, more = {}) => tool({ name, description: `Does ${name}.`, execute, ...more })

/** Awaits something that does not keep the process alive, such as what a callback still does when its run is over. */
export async function awake(promise) {
  const timer = setInterval(() => {}, 1000)
  return promise.finally(() => clearInterval(timer))
}

/** Returns all events of a run, also of one that fails. */
export async function play(run) {
  const events = []
  try {
    for await (const event of run) events.push(event)
  } catch (error) {
    if (events.at(-1)?.outcome !== 'error') throw error
  }
  return events
}

/** The texts of a result's tool messages, with whether they are errors. */
export function toolTexts(result) {
  return result.messages
    .filter((message) => message.role === 'tool_result')
    .map((message) => [message.content.map((block) => block.text).join(''), message.isError])
}

/** Creates a folder that is deleted after the test. */
export function temporary(test) {
  const folder = mkdtempSync(join(tmpdir(), 'agent-loop-'))
  test.after(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

/** The address of a mock server that gives these answers (their form is in the documentation of `tests/mock`). */
export async function mock(test, answers) {
  const folder = { dev: 'debug' }[process.env.PROFILE] ?? process.env.PROFILE ?? 'ci'
  const program = process.env.AGENT_MOCK ?? join(projectFolder, 'target', folder, 'agent-mock')
  if (!existsSync(program)) {
    throw new Error(`${program} is missing; build it with \`cargo build --profile ci -p agent-mock\`, or set AGENT_MOCK`)
  }
  const script = join(temporary(test), 'script.json')
  writeFileSync(script, JSON.stringify({ answers }))
  const server = spawn(program, [script], { stdio: ['pipe', 'pipe', 'inherit'] })
  // It ends when its input does.
  test.after(() => server.stdin.end())
  const [line] = await once(server.stdout, 'data')
  return String(line).trim()
}

/** An answer of an OpenAI-like server as mock frames. */
export function chatFrames(...texts) {
  const chunk = (delta, finish_reason = null) => JSON.stringify({ choices: [{ index: 0, delta, finish_reason }] })
  const data = [...texts.map((content) => chunk({ content })), chunk({}, 'stop'), '[DONE]']
  return { body: data.map((text) => `data: ${text}\n\n`).join('') }
}

/**
 * Runs a program text as a module in a separate process, in which `agent-loop` is this package. `meanwhile` is called with the
 * process once it has printed `ready`. Returns how it ended and what it printed.
 */
export async function program(text, { meanwhile, environment = {}, timeout = 20_000 } = {}) {
  const child = spawn(process.execPath, ['--input-type=module', '--eval', text], {
    cwd: packageFolder,
    env: { ...process.env, ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let output = ''
  let errors = ''
  child.stdout.on('data', (data) => {
    const wasReady = output.includes('ready')
    output += data
    if (!wasReady && output.includes('ready')) meanwhile?.(child)
  })
  child.stderr.on('data', (data) => (errors += data))
  const timer = setTimeout(() => child.kill('SIGKILL'), timeout)
  const [code, signal] = await once(child, 'close')
  clearTimeout(timer)
  return { code, signal, output, errors }
}

/** The tool of the calculator conversation. */
export const calculator = tool({
  name: 'calculator',
  description: 'Perform basic arithmetic operations',
  execute: ({ operation, a, b }) => ({ result: operation === 'multiply' ? a * b : a / b }),
})

// The library's threads in a process of Node: what happens when there are none.

import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { test } from 'node:test'

import { packageFolder } from './helpers.mjs'

/** A process that does something while it may have no further threads or processes. */
const program = (before, after) => `
  const { execFileSync } = await import('node:child_process')
  const { Agent, AgentError, tool } = await import('agent-loop')
  const answers = (...script) => ({ model: { provider: 'scripted', id: 's', script } })
  ${before}
  try {
    execFileSync('prlimit', ['--pid', String(process.pid), '--nproc=1:'], { stdio: 'pipe' })
  } catch (error) {
    console.log('not limited', error.message)
    process.exit()
  }
  try {
    execFileSync('true')
    console.log('not limited')
    process.exit()
  } catch {}
  try {
    ${after}
  } catch (error) {
    console.log(error instanceof Error, error instanceof AgentError, error.kind, error.message)
  }`

/** What it printed; nothing if the system does not limit it. */
function limited(t, before, after) {
  // The superuser has no limit; whoever has this number has no other process.
  const user = process.geteuid?.() === 0 ? { uid: 54321 } : {}
  const options = { cwd: packageFolder, encoding: 'utf8', timeout: 60_000, ...user }
  const run = spawnSync(process.execPath, ['--input-type=module', '-e', program(before, after)], options)
  if (run.stdout.startsWith('not limited') || run.status === null) t.skip('the system does not limit this process')
  else return run.stdout + run.stderr
}

test('found_a11_no_thread_for_the_engine_is_an_error', (t) => {
  const after = `
    const { text } = await new Agent(answers([{ delta: 'Hello.' }, { end: {} }])).prompt('go')
    console.log('answered', text)`
  const output = limited(t, '', after)
  if (output) assert.match(output, /^true true io the runtime's threads cannot be started: /)
})

test('found_e3_a_tool_needs_no_further_thread', (t) => {
  const before = `
    const call = { delta: { tool_call: { id: 'a', name: 't', arguments: {} } } }
    const t = tool({ name: 't', description: 'A tool.', execute: () => 'ran' })
    await new Agent(answers([{ delta: 'Hello.' }, { end: {} }])).prompt('the engine has its threads')
    const agent = new Agent({ ...answers([call, { end: {} }], [{ delta: 'Done.' }, { end: {} }]), tools: [t] })`
  const output = limited(t, before, "console.log((await agent.prompt('go')).text)")
  if (output) assert.equal(output, 'Done.\n')
})

// The library's threads in a process of Node: what happens when there are none.

import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { test } from 'node:test'

import { packageFolder } from './helpers.mjs'

/** Sets its own limit to no further threads or processes, then creates an agent and a run. */
const program = `
  const { execFileSync } = await import('node:child_process')
  const { Agent, AgentError } = await import('agent-loop')
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
    const agent = new Agent({ model: { provider: 'scripted', id: 's', script: [[{ delta: 'Hello.' }, { end: {} }]] } })
    const { text } = await agent.prompt('go')
    console.log('answered', text)
  } catch (error) {
    console.log(error instanceof Error, error instanceof AgentError, error.kind, error.message)
  }`

test('found_a11_no_thread_for_the_engine_is_an_error', (t) => {
  // The superuser has no limit; whoever has this number has no other process.
  const user = process.geteuid?.() === 0 ? { uid: 54321 } : {}
  const options = { cwd: packageFolder, encoding: 'utf8', timeout: 60_000, ...user }
  const { stdout, stderr, status } = spawnSync(process.execPath, ['--input-type=module', '-e', program], options)
  if (stdout.startsWith('not limited') || status === null) return t.skip('the system does not limit this process')
  assert.match(stdout, /^true true io the runtime's threads cannot be started: /, stderr)
})

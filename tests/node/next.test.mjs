// An application in Next.js, as docs/bundlers.md says: built with each of its bundlers, moved away, started and asked.

import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'

import { checkEvents } from '../../bindings/node/dist/testing.js'

import { installed, temporary } from './application.mjs'

const here = fileURLToPath(new URL('next/', import.meta.url))
const environment = { ...process.env, NEXT_TELEMETRY_DISABLED: '1' }

/** Builds the application; returns the exit code and the output. */
function build(test, ...options) {
  installed(here)
  rmSync(join(here, '.next'), { recursive: true, force: true })
  test.after(() => rmSync(join(here, '.next'), { recursive: true, force: true }))
  const command = [join(here, 'node_modules/next/dist/bin/next'), 'build', ...options]
  const { status, stdout, stderr } = spawnSync(process.execPath, command, { cwd: here, encoding: 'utf8', env: environment })
  return { status, output: stdout + stderr }
}

async function freePort() {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address()
  server.close()
  await once(server, 'close')
  return port
}

/** Starts a standalone server where the application is not; returns its address. */
async function started(test) {
  const folder = temporary(test)
  cpSync(join(here, '.next/standalone'), folder, { recursive: true, verbatimSymlinks: true })
  // Next.js takes the folder above for the root of a monorepo, because it has a lock file too.
  const cwd = join(folder, 'next')
  const port = await freePort()
  const env = { ...environment, PORT: String(port), HOSTNAME: '127.0.0.1' }
  const server = spawn(process.execPath, ['server.js'], { cwd, env, stdio: ['ignore', 'pipe', 'inherit'] })
  test.after(async () => {
    if (server.exitCode === null && server.kill()) await once(server, 'exit')
  })
  for await (const text of server.stdout.setEncoding('utf8')) {
    if (text.includes('Ready')) return `http://127.0.0.1:${port}`
  }
  assert.fail('the server has ended')
}

const ask = (address) =>
  fetch(address, { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{"text":"go"}' })

for (const bundler of ['turbopack', 'webpack']) {
  test(`found_n2_next_${bundler}: a standalone server answers, in a route handler and in an API route`, async (t) => {
    const { status, output } = build(t, `--${bundler}`)
    assert.equal(status, 0, output)
    const address = await started(t)

    const streamed = await ask(`${address}/chat`)
    assert.equal(streamed.status, 200)
    const events = (await streamed.text()).trimEnd().split('\n').map((line) => JSON.parse(line))
    checkEvents(events)
    assert.deepEqual([events.at(-1).outcome, events.at(-1).messages.at(-1).content[0].text], ['completed', 'It is 42.'])

    const answer = await ask(`${address}/api/chat`)
    assert.deepEqual([answer.status, await answer.json()], [200, { tool: '42', text: 'It is 42.' }])
  })
}

// What a user has stored for a provider, as `agent auth login` stores it.

import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'

import { Agent } from 'agent-loop'

const KEY = 'sk-test-1234567890'
const home = mkdtempSync(join(tmpdir(), 'agent-loop-'))
const keys = []
let url

const server = createServer((request, response) => {
  keys.push(request.headers.authorization)
  request.resume().on('end', () => {
    const choices = [{ delta: { content: 'Yes.' } }, { delta: {}, finish_reason: 'stop' }]
    const chunks = choices.map((choice) => JSON.stringify({ id: 'c', choices: [{ index: 0, ...choice }] }))
    response.setHeader('content-type', 'text/event-stream')
    response.end([...chunks, '[DONE]'].map((chunk) => `data: ${chunk}\n\n`).join(''))
  })
})

before(async () => {
  process.env.AGENT_HOME = home
  process.env.AGENT_KEYRING = 'file'
  delete process.env.OPENAI_API_KEY
  delete process.env.GROQ_API_KEY
  mkdirSync(join(home, '.credentials'), { mode: 0o700 })
  writeFileSync(join(home, '.credentials/openai.json'), JSON.stringify({ key: KEY }), { mode: 0o600 })
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
  url = `http://127.0.0.1:${server.address().port}`
})

after(() => {
  server.close()
  server.closeAllConnections()
  rmSync(home, { recursive: true })
})

test('a stored key is sent', async () => {
  const { text } = await new Agent({ model: 'openai/m', apiKey: 'keyring', baseUrl: url }).prompt('Hi.')
  assert.equal(text, 'Yes.')
  assert.deepEqual(keys, [`Bearer ${KEY}`])
})

test('nothing stored says how to sign in', async () => {
  const asked = new Agent({ model: 'groq/m', apiKey: 'keyring', baseUrl: url }).prompt('Hi.')
  await assert.rejects(asked, /nothing is stored for groq: sign in with `agent auth login groq`/)
  assert.equal(keys.length, 1)
})

// Servers that want a sign-in: two scenarios of MCP's conformance suite. tests/mcp/with_server.py has it.

import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { realpathSync } from 'node:fs'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'

const modules = realpathSync(process.env.MCP_EVERYTHING).replace(/(.*[\\/]node_modules)[\\/].*/, '$1')
const suite = `${modules}/@modelcontextprotocol/conformance/dist/index.js`
const client = fileURLToPath(new URL('sign-in.mjs', import.meta.url))

for (const scenario of ['auth/metadata-default', 'auth/scope-step-up']) {
  test(`a user signs in, and again for more: ${scenario}`, () => {
    const args = [suite, 'client', '--command', `${process.execPath} ${client}`, '--scenario', scenario]
    const { status, stdout, stderr } = spawnSync(`${modules}/node/bin/node`, args, { encoding: 'utf8' })
    assert.equal(status, 0, stdout + stderr)
  })
}

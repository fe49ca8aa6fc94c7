// The package's types and paths, as "Are the types wrong?" and publint see them.

import assert from 'node:assert/strict'
import { execFileSync, spawnSync } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'

import { publint } from 'publint'

import { application, temporary } from './application.mjs'

const here = fileURLToPath(new URL('.', import.meta.url))

test('found_n6_attw: each path has its types under every resolution', (t) => {
  const folder = temporary(t)
  const options = { cwd: join(here, '../../bindings/node'), stdio: 'ignore' }
  execFileSync('npm', ['pack', '--silent', '--pack-destination', folder], options)
  const [packed] = readdirSync(folder)
  const attw = join(here, 'node_modules/@arethetypeswrong/cli/dist/index.js')
  const { status, stdout } = spawnSync(process.execPath, [attw, packed, '--format', 'json'], { cwd: folder, encoding: 'utf8' })
  assert.equal(status, 0, stdout)
  const { analysis } = JSON.parse(stdout)
  assert.deepEqual(analysis.problems, [])
  assert.deepEqual(Object.keys(analysis.entrypoints), ['.', './testing', './restate', './canonical', './package.json'])
})

test('found_n6_publint: no path of the package is wrong', async (t) => {
  const pkgDir = join(application(t, {}), 'node_modules/agent-loop')
  assert.deepEqual((await publint({ pkgDir, pack: false, strict: true, level: 'warning' })).messages, [])
})

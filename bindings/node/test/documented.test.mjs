// The programs of docs/tools.md that are only for Node print what the page says. tests/snippet_types.py checks their types.

import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'

import ts from 'typescript'

import { packageFolder, projectFolder, temporary } from './helpers.mjs'

test('the programs of docs/tools.md', (suite) => {
  const page = readFileSync(join(projectFolder, 'docs/tools.md'), 'utf8')
  const programs = [...page.matchAll(/```ts\n(.*?)```\n\n```text\n(.*?)```/gs)]
  assert.ok(programs.length > 1)
  const folder = temporary(suite)
  // The package finds itself by its name.
  const place = join(packageFolder, 'node_modules')
  symlinkSync(place, join(folder, 'node_modules'), 'junction')
  for (const [number, [, text, output]] of programs.entries()) {
    const compilerOptions = { module: ts.ModuleKind.ESNext, target: ts.ScriptTarget.ES2022 }
    const file = join(folder, `${number}.mjs`)
    const main = JSON.stringify(join(packageFolder, 'dist/esm.mjs'))
    writeFileSync(file, ts.transpileModule(text.replace("'agent-loop'", main), { compilerOptions }).outputText)
    const { stdout, stderr } = spawnSync(process.execPath, [file], { encoding: 'utf8' })
    assert.deepEqual([stdout, stderr], [output, ''])
  }
})

// Agents as programs, each in a process of its own, as its user starts it.

import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { fileURLToPath } from 'node:url'

import { main } from 'agent-loop'

const EXAMPLE = fileURLToPath(new URL('../../../examples/node/agent.mjs', import.meta.url))
const PROGRAM = fileURLToPath(new URL('../agent.js', import.meta.url))
const folder = mkdtempSync(join(tmpdir(), 'agent-loop-'))
after(() => rmSync(folder, { recursive: true }))

function run(program, args, input = '') {
  const { PATH } = process.env
  const env = { PATH, HOME: folder, AGENT_HOME: join(folder, 'home') }
  const options = { cwd: folder, env, input, encoding: 'utf8' }
  const { status, stdout, stderr } = spawnSync(process.execPath, [program, ...args], options)
  return { status, stdout, stderr }
}

const CALL = { delta: { tool_call: { id: '1', name: 'calculator', arguments: { operation: 'multiply', a: 15, b: 23 } } } }

function scripted(script) {
  const answers = JSON.stringify(script).replaceAll('":', '"=')
  const model = `{ provider = "scripted", id = "s", script = ${answers} }`
  writeFileSync(join(folder, 'agent.toml'), `name = "calculator"\nmodel = ${model}\n`)
}

test('a spec of few lines is a complete agent', () => {
  assert.ok(readFileSync(EXAMPLE, 'utf8').split('\n').length < 30)
  scripted([[CALL, { end: 'tool_use' }], [{ delta: 'It is 345.' }, { end: 'stop' }]])
  const calculated = '- calculator operation=multiply a=15 b=23\n'
  assert.deepEqual(run(EXAMPLE, ['agent.toml', '15 times 23?']), { status: 0, stdout: 'It is 345.\n', stderr: calculated })
  const help = run(EXAMPLE, ['--help'])
  assert.equal(help.status, 0)
  assert.match(help.stdout, /Usage: calculator \[OPTIONS\]/)
  assert.equal(run(EXAMPLE, ['--bogus']).status, 2)
  const none = run(EXAMPLE, ['Hello'])
  assert.equal(none.status, 1)
  assert.match(none.stderr, /^calculator: no model is configured/)
})

test('a conversation in the shell uses the tools', () => {
  scripted([[CALL, { end: 'tool_use' }], [{ delta: 'It is 345.' }, { end: 'stop' }]])
  const { status, stdout } = run(EXAMPLE, ['chat', '--spec', 'agent.toml', '--session', 'sums'], '15 times 23?\n/tools\n')
  assert.equal(status, 0)
  assert.ok(stdout.includes('It is 345.\ncalculator\n'), stdout)
})

test('hooks and subagents are those of the spec', () => {
  const program = join(folder, 'guide.mjs')
  const library = JSON.stringify(new URL('../dist/esm.mjs', import.meta.url).href)
  writeFileSync(program, `
    import { main } from ${library}
    const model = (...script) => ({ provider: 'scripted', id: 's', script })
    const call = { delta: { tool_call: { id: '1', name: 'geographer', arguments: { prompt: 'The capital?' } } } }
    await main({
      name: 'guide',
      version: '2.5',
      model: model([call, { end: 'tool_use' }], [{ delta: 'It is Paris.' }, { end: 'stop' }]),
      afterToolCall: ({ result }) => ({ content: result.content[0].text + ' (checked)' }),
      agents: [{ name: 'geographer', model: model([{ delta: 'Paris.' }, { end: 'stop' }]) }],
    })`)
  const { status, stdout, stderr } = run(program, ['--json', 'France?'])
  assert.equal(status, 0, stderr)
  const events = stdout.trim().split('\n').map((line) => JSON.parse(line))
  const ends = events.filter(({ type }) => type === 'tool_execution_end')
  assert.equal(ends.at(-1).result.content[0].text, 'Paris. (checked)')
  assert.equal(run(program, ['--version']).stdout, 'guide 2.5\n')
})

test('the program of the package is agent', () => {
  const { status, stdout } = run(PROGRAM, ['--demo'])
  assert.deepEqual([status, stdout], [0, 'I multiply first.\n\n23 × 19 + 5 = 442.\n'])
  assert.match(run(PROGRAM, ['--version']).stdout, /^agent \d+\.\d+/)
})

test('wrong specs are refused', async () => {
  await assert.rejects(main(7), { message: "main: expected an object such as { name: 'forecast' }, got number" })
  await assert.rejects(main({}), { message: 'main: name: expected a text, got nothing' })
})

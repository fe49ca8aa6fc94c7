// The package as users get it: packed, installed into an empty folder without a network, used from all kinds of modules.

import assert from 'node:assert/strict'
import { execFileSync, spawnSync } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, readFileSync, readdirSync, renameSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { before, test } from 'node:test'

import { version } from 'agent-loop'
import ts from 'typescript'

import { packageFolder, projectFolder, temporary } from './helpers.mjs'

const described = JSON.parse(readFileSync(join(packageFolder, 'package.json'), 'utf8'))
const model = readFileSync(join(projectFolder, 'tests/scenarios/calculator/model.json'), 'utf8')
const tsc = join(packageFolder, 'node_modules/typescript/bin/tsc')
const licences = ['LICENSE-APACHE', 'LICENSE-MIT', 'THIRD-PARTY-NOTICES.txt']
/** Libraries of schemas, and what they need. */
const LIBRARIES = ['zod', 'zod-to-json-schema', 'valibot', '@valibot/to-json-schema', 'arktype', '@ark', 'arkregex']
let folder

function npm(where, ...args) {
  // On Windows, npm is a script.
  return execFileSync('npm', args, {
    cwd: where,
    encoding: 'utf8',
    shell: process.platform === 'win32',
    stdio: ['ignore', 'pipe', 'ignore'],
  })
}

function node(...args) {
  const { status, stdout, stderr } = spawnSync(process.execPath, args, { cwd: folder, encoding: 'utf8' })
  assert.deepEqual([status, stderr], [0, ''])
  return stdout
}

/** Lets the program use packages that are installed here. */
function link(...names) {
  for (const name of names) {
    const place = join(folder, 'node_modules', name)
    mkdirSync(dirname(place), { recursive: true })
    if (!existsSync(place)) symlinkSync(join(packageFolder, 'node_modules', name), place, 'junction')
  }
}

before((suite) => {
  folder = temporary(suite)
  npm(packageFolder, 'pack', '--pack-destination', folder)
  writeFileSync(join(folder, 'package.json'), '{ "private": true }')
  npm(folder, 'install', '--offline', '--no-audit', '--no-fund', `./agent-loop-${described.version}.tgz`)
})

test('the version is that of the library', () => {
  assert.equal(described.version, version)
})

test('found_c4_licences_are_in_the_package', () => {
  const text = (name) => readFileSync(join(folder, 'node_modules/agent-loop', name), 'utf8')
  for (const name of licences) assert.equal(text(name), readFileSync(join(projectFolder, name), 'utf8'))
  assert.match(text('THIRD-PARTY-NOTICES.txt'), /^- ring /m)
})

test('found_d4_links_of_the_readme_lead_somewhere_from_anywhere', () => {
  const readme = readFileSync(join(packageFolder, 'README.md'), 'utf8')
  const links = Array.from(readme.matchAll(/\]\(([^)]+)\)/g), ([, link]) => link)
  assert.ok(links.length > 0)
  assert.deepEqual(links.filter((link) => !/^(https:\/\/|#)/.test(link)), [])
  // Those into this repository name files that are there.
  for (const link of links) {
    const [, place] = /agent-loop\/agent-loop\/(?:blob|tree)\/main\/([^#]*)/.exec(link) ?? []
    if (place !== undefined) assert.ok(existsSync(join(projectFolder, place)), link)
  }
})

test('the files of the package', () => {
  const installed = join(folder, 'node_modules/agent-loop')
  const files = readdirSync(installed).filter((name) => !name.endsWith('.node'))
  assert.deepEqual(files.sort(), [...licences, 'README.md', 'agent.js', 'dist', 'package.json'].sort())
  assert.equal(readdirSync(installed).length, files.length + 1, 'and one native module')
  assert.ok(readdirSync(join(installed, 'dist')).every((name) => /\.(js|mjs|d\.ts|d\.mts)$/.test(name)))
})

const program = `
  const script = [
    [{ delta: { tool_call: { id: 'a', name: 'double', arguments: { n: 21 } } } }, { end: {} }],
    [{ delta: 'It is 42.' }, { end: {} }],
  ]
  const parameters = { type: 'object', properties: { n: { type: 'number' } }, required: ['n'] }
  const double = tool({ name: 'double', parameters, execute: ({ n }) => n * 2 })
  const agent = new Agent({ model: { provider: 'scripted', id: 's', script }, tools: [double] })
  const main = async () => {
    for await (const event of agent.stream('go')) if (event.type === 'text_delta') console.log(event.delta)
    console.log(JSON.stringify(agent.messages[2]?.content))
  }
  main()`
const said = 'It is 42.\n[{"type":"text","text":"42"}]\n'

test('import', () => {
  writeFileSync(join(folder, 'esm.mjs'), `import { Agent, tool } from 'agent-loop'\n${program}`)
  assert.equal(node('esm.mjs'), said)
})

test('require, and both have the same classes', () => {
  writeFileSync(join(folder, 'cjs.cjs'), `const { Agent, tool } = require('agent-loop')\n${program}`)
  assert.equal(node('cjs.cjs'), said)
  const text = `const here = require('agent-loop')
    import('agent-loop').then((there) => {
      console.log(here.Agent === there.Agent, Object.keys(here).filter((name) => !(name in there)))
    })`
  assert.equal(node('--eval', text), 'true []\n')
})

test('no path exports what its types do not declare', () => {
  const installed = join(folder, 'node_modules/agent-loop')
  const { exports } = JSON.parse(readFileSync(join(installed, 'package.json'), 'utf8'))
  for (const path of ['.', './testing', './canonical']) {
    const types = join(installed, exports[path].require.types)
    const program = ts.createProgram([types], { module: ts.ModuleKind.Node16, target: ts.ScriptTarget.ES2022, types: [] })
    const checker = program.getTypeChecker()
    const declared = checker.getExportsOfModule(checker.getSymbolAtLocation(program.getSourceFile(types)))
    const names = declared.map(({ name }) => name)
    const print = `((all) => console.log(JSON.stringify(Object.keys(all))))`
    const module = join('agent-loop', path)
    for (const text of [`${print}(require('${module}'))`, `import('${module}').then(${print})`]) {
      const exported = JSON.parse(node('--eval', text))
      assert.ok(exported.length > 0)
      assert.deepEqual(exported.filter((name) => name !== '__esModule' && !names.includes(name)), [], text)
    }
  }
})

test('agent-loop/testing, both ways', () => {
  const check = "try { checkEvents([]) } catch (error) { console.log(error.name, error instanceof InvalidArgumentError) }"
  writeFileSync(
    join(folder, 'testing.mjs'),
    `import { InvalidArgumentError } from 'agent-loop'; import { checkEvents } from 'agent-loop/testing'\n${check}`,
  )
  writeFileSync(
    join(folder, 'testing.cjs'),
    `const { InvalidArgumentError } = require('agent-loop'); const { checkEvents } = require('agent-loop/testing')\n${check}`,
  )
  for (const file of ['testing.mjs', 'testing.cjs']) assert.equal(node(file), 'InvalidArgumentError true\n')
})

test('TypeScript, as a module and as CommonJS, with every check on', () => {
  link('@types/node', 'undici-types')
  const typed = program.replace('({ n }) => n * 2', '({ n }) => n.toFixed(0).length + n * 2 - 2')
  writeFileSync(
    join(folder, 'module.mts'),
    `import { Agent, tool } from 'agent-loop'\nimport { checkEvents } from 'agent-loop/testing'\nvoid checkEvents\n${typed}`,
  )
  writeFileSync(join(folder, 'common.cts'), `import { Agent, tool } from 'agent-loop'\n${typed}`)
  const compilerOptions = { module: 'Node16', target: 'ES2022', strict: true, exactOptionalPropertyTypes: true, types: ['node'] }
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, files: ['module.mts', 'common.cts'] }))
  const { status, stdout } = spawnSync(process.execPath, [tsc, '-p', folder], { encoding: 'utf8' })
  assert.deepEqual([status, stdout], [0, ''])
  assert.equal(node('module.mjs'), said)
  assert.equal(node('common.cjs'), said)
})

test('found_n3_schema_types: what zod and MCP give fits, with every check on', () => {
  link('@types/node', 'undici-types', ...LIBRARIES)
  cpSync(join(packageFolder, 'test/types/schemas.mts'), join(folder, 'schemas.mts'))
  const checks = { strict: true, exactOptionalPropertyTypes: true, skipLibCheck: true }
  const compilerOptions = { module: 'Node16', target: 'ES2022', noEmit: true, types: ['node'], ...checks }
  writeFileSync(join(folder, 'schemas.json'), JSON.stringify({ compilerOptions, files: ['schemas.mts'] }))
  const { status, stdout } = spawnSync(process.execPath, [tsc, '-p', 'schemas.json'], { cwd: folder, encoding: 'utf8' })
  assert.deepEqual([status, stdout], [0, ''])
})

test('found_n5_browser_types: a program without the types of Node has those of canonical JSON', () => {
  cpSync(join(packageFolder, 'test/types/canonical.mts'), join(folder, 'canonical.mts'))
  const compilerOptions = {
    module: 'ESNext',
    moduleResolution: 'bundler',
    target: 'ES2022',
    lib: ['ES2023', 'DOM'],
    types: [],
    noEmit: true,
    strict: true,
    exactOptionalPropertyTypes: true,
  }
  writeFileSync(join(folder, 'canonical.json'), JSON.stringify({ compilerOptions, files: ['canonical.mts'] }))
  const { status, stdout } = spawnSync(process.execPath, [tsc, '-p', 'canonical.json'], { cwd: folder, encoding: 'utf8' })
  assert.deepEqual([status, stdout], [0, ''])
})

test('found_n6_node10: TypeScript finds each path, also where it does not read "exports"', () => {
  link('@types/node', 'undici-types')
  const text = `import { Agent } from 'agent-loop'
    import { fromCanonical, type CanonicalEvent } from 'agent-loop/canonical'
    import { checkEvents } from 'agent-loop/testing'
    export const check = (event: CanonicalEvent) => checkEvents([fromCanonical(event)])
    export const agent: Agent = new Agent({ model: 'p/m' })`
  writeFileSync(join(folder, 'old.ts'), text)
  const old = { module: 'CommonJS', moduleResolution: 'node10', ignoreDeprecations: '6.0' }
  const compilerOptions = { ...old, target: 'ES2022', types: ['node'], strict: true, noEmit: true }
  writeFileSync(join(folder, 'old.json'), JSON.stringify({ compilerOptions, files: ['old.ts'] }))
  const { status, stdout } = spawnSync(process.execPath, [tsc, '-p', 'old.json'], { cwd: folder, encoding: 'utf8' })
  assert.deepEqual([status, stdout], [0, ''])
})

test('found_n6_undefined: what may be left out may be undefined', () => {
  cpSync(join(packageFolder, 'test/types/undefined.mts'), join(folder, 'undefined.mts'))
  link('@types/node', 'undici-types')
  const checks = { strict: true, exactOptionalPropertyTypes: true }
  const compilerOptions = { module: 'Node16', target: 'ES2022', noEmit: true, types: ['node'], ...checks }
  writeFileSync(join(folder, 'undefined.json'), JSON.stringify({ compilerOptions, files: ['undefined.mts'] }))
  const { status, stdout } = spawnSync(process.execPath, [tsc, '-p', 'undefined.json'], { cwd: folder, encoding: 'utf8' })
  assert.deepEqual([status, stdout], [0, ''])
})

const RESOLUTIONS = [
  ['mts', { module: 'NodeNext' }],
  ['cts', { module: 'NodeNext' }],
  ['ts', { module: 'Preserve' }],
  ['ts', { module: 'ESNext', moduleResolution: 'Bundler', verbatimModuleSyntax: true, isolatedModules: true }],
  ['ts', { module: 'CommonJS', moduleResolution: 'node10', ignoreDeprecations: '6.0', esModuleInterop: true }],
]
for (const [extension, resolution] of RESOLUTIONS) {
  const name = Object.values(resolution).join(' ')
  test(`found_n6_resolutions: all types, also with schemas of zod, valibot and ArkType: ${extension}, ${name}`, () => {
    link('@types/node', 'undici-types', ...LIBRARIES)
    const files = ['types', 'undefined', 'schemas'].map((stem) => {
      cpSync(join(packageFolder, `test/types/${stem}.mts`), join(folder, `${stem}.${extension}`))
      return `${stem}.${extension}`
    })
    const checks = { strict: true, exactOptionalPropertyTypes: true, noUncheckedIndexedAccess: true, skipLibCheck: true }
    const compilerOptions = { ...resolution, target: 'ES2022', lib: ['ES2023'], types: ['node'], noEmit: true, ...checks }
    writeFileSync(join(folder, 'resolution.json'), JSON.stringify({ compilerOptions, files }))
    const { status, stdout } = spawnSync(process.execPath, [tsc, '-p', 'resolution.json'], { cwd: folder, encoding: 'utf8' })
    assert.deepEqual([status, stdout], [0, ''])
  })
}

test('the examples', () => {
  cpSync(join(projectFolder, 'examples/node'), join(folder, 'examples'), {
    recursive: true,
    filter: (from) => !from.includes('node_modules'),
  })
  assert.equal(
    node('examples/calculator.mjs', model),
    `User: What is 15 multiplied by 23?
[turn 1]
[calling calculator {"operation":"multiply","a":15,"b":23}]
[calculator -> {"result":345}]
[turn 2]
15 multiplied by 23 equals 345.
[completed]
User: Now divide that by 5
[turn 1]
[calling calculator {"operation":"divide","a":345,"b":5}]
[calculator -> {"result":69}]
[turn 2]
345 divided by 5 equals 69. 🙂 "quoted" é
[completed]
Conversation: user, assistant, tool_result, assistant, user, assistant, tool_result, assistant
`,
  )
  const events = node('examples/calculator.mjs', '--events', model).trimEnd().split('\n')
  assert.deepEqual(
    [JSON.parse(events[0]).type, JSON.parse(events.at(-1)).outcome, events.length],
    ['agent_start', 'completed', 51],
  )
  const usage = spawnSync(process.execPath, [join(folder, 'examples/calculator.mjs')], { encoding: 'utf8' })
  assert.deepEqual([usage.status, usage.stderr], [2, 'usage: calculator [--events] MODEL [BASE_URL [SECOND_MODEL]]\n'])
  const failed = spawnSync(process.execPath, [join(folder, 'examples/calculator.mjs'), 'nothing'], { encoding: 'utf8' })
  assert.equal(failed.status, 1)
  assert.match(failed.stderr, /^invalid_argument: model "nothing": expected "provider\/id"/)
})

test('the example that steers', () => {
  const model = readFileSync(join(projectFolder, 'tests/c/steer.json'), 'utf8')
  assert.equal(node('examples/steer.mjs', model), readFileSync(join(projectFolder, 'tests/c/steer.txt'), 'utf8'))
})

test('the README\'s program', () => {
  const [, text] = /```ts\n(.*?)```/s.exec(readFileSync(join(packageFolder, 'README.md'), 'utf8'))
  const script = JSON.stringify(JSON.parse(model).script)
  const scripted = text.replace(/model: '[^']*'/, `model: { provider: 'scripted', id: 's', script: ${script} }`)
  assert.notEqual(scripted, text)
  writeFileSync(join(folder, 'readme.mjs'), scripted)
  assert.equal(node('readme.mjs'), '15 multiplied by 23 equals 345.\n345 divided by 5 equals 69. 🙂 "quoted" é 158\n')
})

test('found_n2_literal_names: bundlers see the native module of every platform, and the modules of all conditions', () => {
  const installed = join(folder, 'node_modules/agent-loop')
  const text = readFileSync(join(installed, 'dist/modules.js'), 'utf8')
  const names = ['darwin-arm64', 'darwin-x64', ...['arm64', 'x64'].flatMap((cpu) => [`linux-${cpu}-gnu`, `linux-${cpu}-musl`])]
  for (const name of [...names, 'win32-arm64-msvc', 'win32-x64-msvc']) {
    assert.ok(text.includes(`require("../agent-loop.${name}.node")`), name)
    assert.ok(text.includes(`require("agent-loop-${name}")`), name)
  }
  assert.deepEqual(text.match(/[^.]require\((?!")/g), null, 'no other name is required')
  // The condition `module` is that of bundlers; Node ignores it.
  const { exports } = JSON.parse(readFileSync(join(installed, 'package.json'), 'utf8'))
  for (const path of ['.', './testing']) {
    const bundled = join(installed, exports[path].import.module)
    const plain = join(installed, exports[path].import.default)
    const compare = `Promise.all(['${bundled}', '${plain}'].map((file) => import(file))).then(([a, b]) =>
      console.log(Object.keys(a).join() === Object.keys(b).join() && Object.keys(a).every((name) => a[name] === b[name])))`
    assert.equal(node('--eval', compare), 'true\n', path)
  }
})

test('the native module may come in a separate package', () => {
  const installed = join(folder, 'node_modules/agent-loop')
  const file = readdirSync(installed).find((name) => name.endsWith('.node'))
  const name = `agent-loop-${file.split('.')[1]}`
  mkdirSync(join(folder, 'node_modules', name))
  renameSync(join(installed, file), join(folder, 'node_modules', name, file))
  const load = ['--eval', "console.log(require('agent-loop').version)"]
  const without = spawnSync(process.execPath, load, { cwd: folder, encoding: 'utf8' })
  assert.match(
    without.stderr,
    /Error: agent-loop: there is no native module for \w+ on \w+: install agent-loop-[\w-]+, or build it from source/,
  )
  writeFileSync(join(folder, 'node_modules', name, 'package.json'), JSON.stringify({ name, version, main: file }))
  assert.equal(node(...load), `${version}\n`)
})

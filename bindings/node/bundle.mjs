// Joins the modules that tsc wrote to dist into one file: node bundle.mjs
//
// At start-up, each file costs Node a fifth of a millisecond, and comments are scanned as well. So dist/modules.js has all
// modules without comments, and exports a function that loads one by its name. Beside it are the files that package.json names.
//
// Bundlers follow only a `require` that is Node's own, of a literal name. So the modules in the file are loaded by a function of
// another name, and what is not in the file with `require`.

import { readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

import ts from 'typescript'

const dist = fileURLToPath(new URL('dist/', import.meta.url))
const printer = ts.createPrinter({ removeComments: true })

const names = readdirSync(dist).filter((name) => name.endsWith('.js') && name !== 'modules.js')
const texts = new Map(names.map((name) => [name, printed(name)]))
for (const name of names) rmSync(join(dist, name))

function printed(name) {
  const source = ts.createSourceFile(name, readFileSync(join(dist, name), 'utf8'), ts.ScriptTarget.ES2022)
  return printer
    .printFile(source)
    .replace('"use strict";\n', '')
    .replaceAll('require("./', 'load("./')
    // Node 20.15 and older lack it. Not every bundle that is an ES module has a `require`.
    .replaceAll(/require\(("node:\w+")\)/g, '(process.getBuiltinModule?.($1) ?? require($1))')
}

// Not in the file of all: few programs load it, and Node finds the names of its exports only in its own text.
const testing = texts.get('testing.js')
texts.delete('testing.js')
const restate = take('restate')

// For bundlers, which do not follow createRequire: the same exports, of a module that is imported. A bundle that is an ES module
// has no `require`; a global one serves until the native module is loaded. (A bundle that is CommonJS has no address.)
const [, exported] = /^export const \{(.*?)\} = require\(/ms.exec(readFileSync(join(dist, 'esm.mjs'), 'utf8'))
const publicNames = exported.replaceAll(/^\/\/.*\n/gm, '').match(/\w+/g)
writeFileSync(
  join(dist, 'bundled.mjs'),
  `// Written by bundle.mjs.
import { createRequire } from 'node:module'
import load from './modules.js'
const isWithout = globalThis.require === undefined && typeof import.meta.url === 'string'
if (isWithout) globalThis.require = createRequire(import.meta.url)
export const { ${publicNames.join(', ')} } = load('./index.js')
if (isWithout) delete globalThis.require
`,
)
writeFileSync(
  join(dist, 'bundled-testing.mjs'),
  `// Written by bundle.mjs.\nimport './bundled.mjs'\nexport * from './testing.js'\n`,
)

// A program that is an ES module has Restate's SDK as one, and one that is CommonJS as the other: theirs is used.
const sdk = '@restatedev/restate-sdk'
const inCore = '  if (!(name in modules)) return core(name)\n'
const withSdk = joined([...restate.keys()], restate, inCore).replaceAll(`require("${sdk}")`, 'sdk')
write(
  'restate-with.js',
  `const core = require('./modules.js')\nmodule.exports = (sdk) => {\n${withSdk}return load('./restate.js')\n}\n`,
)
const restateNames = ['restateAgent', 'restateTool']
const exportedOnes = restateNames.map((name) => `exports.${name} = made.${name}\n`).join('')
write('restate.js', `const made = require('./restate-with.js')(require('${sdk}'))\n${exportedOnes}`)
const ofRestate = `import * as sdk from '${sdk}'
import make from './restate-with.js'
export const { ${restateNames.join(', ')} } = make(sdk)
`
// Of the types, too: those of the other kind differ.
for (const name of ['restate', 'restate-steps']) {
  const types = readFileSync(join(dist, `${name}.d.ts`), 'utf8')
  writeFileSync(join(dist, `${name}.d.mts`), types.replaceAll("'./restate-steps.js'", "'./restate-steps.mjs'"))
}
writeFileSync(join(dist, 'restate.mjs'), `// Written by bundle.mjs.\n${ofRestate}`)
writeFileSync(join(dist, 'bundled-restate.mjs'), `// Written by bundle.mjs.\nimport './bundled.mjs'\n${ofRestate}`)

write('testing.js', `const load = require('./modules.js')\n${testing}`)
write('index.js', `module.exports = require('./modules.js')('./index.js')\n`)
write('modules.js', `${joined([...texts.keys()])}module.exports = load\n`)

// For browsers: only what they can run.
const canonical = joined(['canonical.js', 'object.js'])
write('canonical.js', `${canonical}exports.fromCanonical = load('./canonical.js').fromCanonical\n`)
writeFileSync(
  join(dist, 'canonical.mjs'),
  `// Written by bundle.mjs.\n${canonical}export const { fromCanonical } = load('./canonical.js')\n`,
)

/** Takes out the modules that begin so. */
function take(prefix) {
  const taken = [...texts.keys()].filter((name) => name.startsWith(prefix)).map((name) => [name, texts.get(name)])
  for (const [name] of taken) texts.delete(name)
  return new Map(taken)
}

/** The text of modules, and of a function that loads one by its name; `others` is what it does first. */
function joined(names, of = texts, others = '') {
  return `const modules = {
${names.map((name) => `'./${name}'(exports) {\n${of.get(name)}},\n`).join('')}}
const loaded = new Map()
/** The exports of a module. */
function load(name) {
${others}  let exports = loaded.get(name)
  if (exports === undefined) {
    loaded.set(name, (exports = {}))
    modules[name](exports)
  }
  return exports
}
`
}

function write(name, text) {
  writeFileSync(join(dist, name), `// Written by bundle.mjs.\n'use strict'\n${text}`)
}

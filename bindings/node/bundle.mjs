// Joins the modules that tsc wrote to dist into one file: node bundle.mjs
//
// At start-up, each file costs Node a fifth of a millisecond, and comments are scanned as well. So dist/modules.js has all
// modules without comments, and exports a function that loads one by its name. Beside it are the files that package.json names.

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
  return printer.printFile(source).replace('"use strict";\n', '')
}

// Not in the file of all: few programs load it, and Node finds the names of its exports only in its own text.
const testing = texts.get('testing.js').replaceAll('require("./', 'load("./')
texts.delete('testing.js')

write('testing.js', `const load = require('./modules.js')\n${testing}`)
write('index.js', `module.exports = require('./modules.js')('./index.js')\n`)
write(
  'modules.js',
  `const modules = {
${Array.from(texts, ([name, text]) => `'./${name}'(exports, require) {\n${text}},\n`).join('')}}
const loaded = new Map()
/** The exports of a module. What is not in this file is left to Node. */
function load(name) {
  if (!Object.hasOwn(modules, name)) return require(name)
  let exports = loaded.get(name)
  if (exports === undefined) {
    loaded.set(name, (exports = {}))
    modules[name](exports, load)
  }
  return exports
}
module.exports = load
`,
)

function write(name, text) {
  writeFileSync(join(dist, name), `// Written by bundle.mjs.\n'use strict'\n${text}`)
}

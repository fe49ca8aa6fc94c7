// Builds the native module with cargo, in the folder that all languages share: node build.mjs [PROFILE [FEATURE ...]]
//
// PROFILE is cargo's (release by default). Writes agent-loop.PLATFORM.node, for lib/native.ts, and its types, native.d.ts.

import { execFileSync } from 'node:child_process'
import { copyFileSync, existsSync, readFileSync, renameSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const here = fileURLToPath(new URL('.', import.meta.url))
const types = join(here, '../../target/node-types/agent-loop-node')
const [profile = 'release', ...features] = process.argv.slice(2)

// The macros write the types while the module compiles: without them it has to compile once more.
if (!existsSync(types)) utimesSync(join(here, 'src/lib.rs'), new Date(), new Date())

const args = ['build', '--locked', '--profile', profile, '-p', 'agent-loop-node', '--message-format', 'json-render-diagnostics']
const withFeatures = features.flatMap((feature) => ['--features', `agent-loop-node/${feature}`])
const output = execFileSync('cargo', [...args, ...withFeatures], {
  cwd: here,
  encoding: 'utf8',
  maxBuffer: 1 << 28,
  stdio: ['ignore', 'pipe', 'inherit'],
})
const messages = output.trim().split('\n').map((line) => JSON.parse(line))
const built = messages.find(({ reason, target }) => reason === 'compiler-artifact' && target.name === 'agent_loop_node')

const { platform, arch } = process
const abi = { linux: process.report.getReport().header.glibcVersionRuntime ? '-gnu' : '-musl', win32: '-msvc' }[platform] ?? ''
const module = join(here, `agent-loop.${platform}-${arch}${abi}.node`)
// Renamed into its place, so that a process which has the old one loaded keeps it.
copyFileSync(built.filenames.find((name) => /\.(so|dylib|dll)$/.test(name)), `${module}.new`)
renameSync(`${module}.new`, module)
writeFileSync(join(here, 'native.d.ts'), declarations(readFileSync(types, 'utf8')))

/** The declarations of what the module exports, each line of `text` one of them or the members of one, in JSON. */
function declarations(text) {
  const lines = text.trim().split('\n').map((line) => JSON.parse(line))
  const members = (name) => lines.filter((line) => line.kind === 'impl' && line.name === name).map((line) => line.def)
  const declare = ({ kind, name, js_doc: comment = '', def }) => {
    switch (kind) {
      case 'struct':
        return `${comment}export declare class ${name} {\n${[def, ...members(name)].join('\n')}\n}\n`
      case 'interface':
        return `${comment}export interface ${name} {\n${def}\n}\n`
      case 'type':
        return `${comment}export type ${name} =\n${def}\n`
      case 'fn':
        return `${comment}export declare ${def}\n`
      case 'impl':
        return ''
      default:
        throw new Error(`build.mjs: napi wrote a kind of declaration that is not known here: ${kind}`)
    }
  }
  return `// Written by build.mjs.\n\n${lines.map(declare).join('\n')}`
}

// Applications in bundles, as docs/bundlers.md says: each bundle is moved away from the application, starts and answers.

import assert from 'node:assert/strict'
import { cpSync, mkdirSync, readdirSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { before, test } from 'node:test'
import { fileURLToPath } from 'node:url'

import { nodeFileTrace } from '@vercel/nft'
import * as esbuild from 'esbuild'
import { build as viteBuild } from 'vite'
import webpack from 'webpack'

import { application, node, temporary } from './application.mjs'

const here = fileURLToPath(new URL('.', import.meta.url))

const body = `
const script = [
  [{ delta: { tool_call: { id: 'a', name: 'double', arguments: { n: 21 } } } }, { end: {} }],
  [{ delta: 'It is 42.' }, { end: {} }],
]
const double = tool({ name: 'double', execute: ({ n }) => n * 2 })
const agent = new Agent({ model: { provider: 'scripted', id: 's', script }, tools: [double] })
async function main() {
  const events = []
  for await (const event of agent.stream('go')) events.push(event)
  checkEvents(events)
  console.log(agent.messages[2].content[0].text, agent.messages[3].content[0].text)
}
main()`
const answer = { status: 0, stdout: '42 It is 42.\n', stderr: '' }

const ENTRIES = {
  'app.mjs': `import { Agent, tool } from 'agent-loop'\nimport { checkEvents } from 'agent-loop/testing'\n${body}`,
  // The other way round, the first import has to find the native module.
  'testing-first.mjs': `import { checkEvents } from 'agent-loop/testing'\nimport { Agent, tool } from 'agent-loop'\n${body}`,
  'app.cjs': `const { Agent, tool } = require('agent-loop')\nconst { checkEvents } = require('agent-loop/testing')\n${body}`,
}

let folder
before((suite) => (folder = application(suite, ENTRIES)))

/** Runs a program where the application is not. With `installed`, the package is installed beside it. */
function runMoved(test, output, name, installed = false) {
  const moved = temporary(test)
  cpSync(output, moved, { recursive: true })
  if (installed) cpSync(join(folder, 'node_modules'), join(moved, 'node_modules'), { recursive: true })
  return node(moved, name)
}

test('found_n2_esbuild: the native module is copied', async (t) => {
  for (const entry of Object.keys(ENTRIES)) {
    for (const format of entry === 'app.cjs' ? ['cjs'] : ['cjs', 'esm']) {
      const outfile = join(folder, `esbuild-${format}`, entry.replace(/\.\w+$/, format === 'esm' ? '.mjs' : '.cjs'))
      const { warnings } = await esbuild.build({
        entryPoints: [join(folder, entry)],
        bundle: true,
        platform: 'node',
        format,
        loader: { '.node': 'copy' },
        outfile,
        logLevel: 'silent',
      })
      assert.deepEqual(warnings, [], `${entry} as ${format}`)
      assert.deepEqual(runMoved(t, dirname(outfile), outfile.split('/').at(-1)), answer, `${entry} as ${format}`)
    }
  }
})

test('found_n2_esbuild_without_options: the build fails, and says what is not configured', async () => {
  const options = { entryPoints: [join(folder, 'app.mjs')], bundle: true, platform: 'node', write: false, logLevel: 'silent' }
  const { errors } = await esbuild.build(options).then(assert.fail, (error) => error)
  assert.match(errors[0].text, /^No loader is configured for "\.node" files: .*agent-loop/)
})

test('found_n2_esbuild_external: the package is installed beside the bundle', async (t) => {
  const outdir = join(folder, 'esbuild-external')
  await esbuild.build({
    entryPoints: [join(folder, 'app.mjs')],
    bundle: true,
    platform: 'node',
    format: 'esm',
    external: ['agent-loop'],
    outExtension: { '.js': '.mjs' },
    outdir,
  })
  assert.deepEqual(runMoved(t, outdir, 'app.mjs', true), answer)
})

test('found_n2_vite: a server build that bundles all other packages', async (t) => {
  for (const entry of ['app.mjs', 'testing-first.mjs']) {
    const outDir = join(folder, 'vite')
    await viteBuild({
      root: folder,
      configFile: false,
      logLevel: 'error',
      ssr: { noExternal: true, external: ['agent-loop'] },
      build: { ssr: entry, outDir },
    })
    assert.deepEqual(runMoved(t, outDir, entry, true), answer)
  }
})

test('found_n2_vite_without_options: what bundles all packages fails, and names the native module', async () => {
  const options = { root: folder, configFile: false, logLevel: 'silent', ssr: { noExternal: true } }
  const build = { ssr: 'app.mjs', outDir: join(folder, 'vite-without-options') }
  const { message } = await viteBuild({ ...options, build }).then(assert.fail, (error) => error)
  assert.match(message, /Could not load .*agent-loop\.[\w-]+\.node/)
})

const runWebpack = (config) =>
  new Promise((resolve, reject) => {
    webpack({ mode: 'production', target: 'node', context: folder, ...config }, (error, stats) => {
      const { errors, warnings } = stats?.toJson({ all: false, errors: true, warnings: true }) ?? {}
      if (error || errors.length > 0) reject(error ?? new Error(errors[0].message))
      else resolve(warnings)
    })
  })

test('found_n2_webpack: the native module is copied', async (t) => {
  for (const entry of Object.keys(ENTRIES)) {
    const output = { path: join(folder, 'webpack'), filename: 'out.cjs', clean: true }
    const warnings = await runWebpack({
      entry: `./${entry}`,
      output,
      module: { rules: [{ test: /\.node$/, loader: 'node-loader' }] },
      resolveLoader: { modules: [join(here, 'node_modules')] },
      ignoreWarnings: [{ module: /agent-loop/, message: /Can't resolve/ }],
    })
    assert.deepEqual(warnings, [])
    assert.deepEqual(runMoved(t, output.path, 'out.cjs'), answer, entry)
  }
})

test('found_n2_webpack_without_options: the build fails, for want of a loader', async () => {
  const output = { path: join(folder, 'webpack-without-options'), filename: 'out.cjs' }
  const { message } = await runWebpack({ entry: './app.mjs', output }).then(assert.fail, (error) => error)
  assert.match(message, /loader/)
})

test('found_n2_webpack_external: the package is installed beside the bundle', async (t) => {
  const output = { path: join(folder, 'webpack-external'), filename: 'out.cjs' }
  const externals = { 'agent-loop': 'commonjs agent-loop', 'agent-loop/testing': 'commonjs agent-loop/testing' }
  assert.deepEqual(await runWebpack({ entry: './app.mjs', output, externals }), [])
  assert.deepEqual(runMoved(t, output.path, 'out.cjs', true), answer)
})

test('found_n2_nft: the tracer of Next.js and Vercel finds all files', async (t) => {
  for (const entry of Object.keys(ENTRIES)) {
    const { fileList } = await nodeFileTrace([join(folder, entry)], { base: folder })
    const moved = temporary(t)
    for (const file of fileList) {
      mkdirSync(dirname(join(moved, file)), { recursive: true })
      cpSync(join(folder, file), join(moved, file))
    }
    assert.deepEqual(node(moved, entry), answer, entry)
  }
})

test('found_n5_browser: a bundle for browsers reads what a server sent', async (t) => {
  const outfile = join(folder, 'browser', 'page.mjs')
  const contents = `import { fromCanonical } from 'agent-loop/canonical'
    globalThis.page = (data) => fromCanonical(JSON.parse(data)).toolName`
  const stdin = { contents, resolveDir: folder }
  const options = { bundle: true, platform: 'browser', format: 'esm', outfile, logLevel: 'silent' }
  const { warnings } = await esbuild.build({ stdin, ...options })
  assert.deepEqual(warnings, [])
  const event = '{"type":"tool_execution_start","run_id":"r","seq":1,"turn":1,"tool_call_id":"a","tool_name":"t","arguments":{}}'
  const moved = temporary(t)
  cpSync(dirname(outfile), moved, { recursive: true })
  const text = `import(${JSON.stringify(join(moved, 'page.mjs'))}).then(() => console.log(page('${event}')))`
  assert.deepEqual(node(moved, '--eval', text), { status: 0, stdout: 't\n', stderr: '' })
})

test('found_n2_missing: a bundle without the native module says what to set', async (t) => {
  const outfile = join(folder, 'missing', 'app.cjs')
  const entryPoints = [join(folder, 'app.mjs')]
  await esbuild.build({ entryPoints, bundle: true, platform: 'node', external: ['*.node'], outfile, logLevel: 'error' })
  assert.deepEqual(readdirSync(dirname(outfile)), ['app.cjs'])
  const { status, stderr } = runMoved(t, dirname(outfile), 'app.cjs')
  assert.equal(status, 1)
  assert.match(stderr, /Error: agent-loop: there is no native module for \w+ on \w+: install agent-loop-[\w-]+, or build it/)
  assert.match(stderr, /In a bundle \(esbuild, Vite, webpack, Next\.js\), make agent-loop external and install it beside/)
  assert.match(stderr, /docs\/bundlers\.md/)
})

// The programs of a page of the documentation that need packages of others.

import assert from 'node:assert/strict'
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

import { temporary } from './application.mjs'

const here = (path) => fileURLToPath(new URL(path, import.meta.url))

/** The blocks of a page, by heading. */
export const features = (page) =>
  new Map(
    readFileSync(here(`../../docs/${page}`), 'utf8')
      .split(/^## /m)
      .slice(1)
      .map((section) => {
        const block = (language) => section.match(new RegExp(`^\`\`\`${language}\n(.*?)^\`\`\`$`, 'ms'))?.[1]
        return [section.split('\n')[0], { program: block('js'), model: block('json'), output: block('text') }]
      })
      .filter(([, { program }]) => program),
  )

/** Writes a program where packages are found, with texts of it replaced and a text before it; returns its path. */
export function written(context, program, replaced, before = '') {
  const folder = temporary(context)
  const modules = join(folder, 'node_modules')
  mkdirSync(modules)
  symlinkSync(here('../../bindings/node'), join(modules, 'agent-loop'))
  for (const name of ['express', '@modelcontextprotocol', '@opentelemetry']) {
    symlinkSync(here(`node_modules/${name}`), join(modules, name))
  }
  let text = program
  for (const [from, to] of replaced) {
    assert.ok(text.includes(from), from)
    text = text.replaceAll(from, () => to)
  }
  const path = join(folder, 'program.mjs')
  writeFileSync(path, before + text)
  return path
}

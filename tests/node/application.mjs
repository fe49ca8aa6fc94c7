// An application that uses the package: packed, and installed into a folder of its own.

import { execFileSync, spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const packageFolder = fileURLToPath(new URL('../../bindings/node/', import.meta.url))

/** Creates a folder that is deleted after the test. */
export function temporary(test) {
  const folder = mkdtempSync(join(tmpdir(), 'agent-loop-'))
  test.after(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

/** Creates an application's folder with these files and the installed package. */
export function application(test, files) {
  const folder = temporary(test)
  const installed = join(folder, 'node_modules/agent-loop')
  mkdirSync(installed, { recursive: true })
  execFileSync('npm', ['pack', '--silent', '--pack-destination', folder], { cwd: packageFolder, stdio: 'ignore' })
  const [packed] = readdirSync(folder).filter((name) => name.endsWith('.tgz'))
  execFileSync('tar', ['xzf', join(folder, packed), '-C', installed, '--strip-components=1'])
  rmSync(join(folder, packed))
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text)
  return folder
}

/** Runs a program; returns how it ended and what it printed. */
export function node(folder, ...args) {
  const { status, stdout, stderr } = spawnSync(process.execPath, args, { cwd: folder, encoding: 'utf8', timeout: 60_000 })
  return { status, stdout, stderr }
}

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

/** Packs the package and installs it into an application's folder. */
export function installed(folder) {
  const target = join(folder, 'node_modules/agent-loop')
  rmSync(target, { recursive: true, force: true })
  mkdirSync(target, { recursive: true })
  execFileSync('npm', ['pack', '--silent', '--pack-destination', target], { cwd: packageFolder, stdio: 'ignore' })
  const [packed] = readdirSync(target)
  execFileSync('tar', ['xzf', packed, '--strip-components=1'], { cwd: target })
  rmSync(join(target, packed))
}

/** Creates an application's folder with these files and the installed package. */
export function application(test, files) {
  const folder = temporary(test)
  installed(folder)
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text)
  return folder
}

/** Runs a program; returns how it ended and what it printed. */
export function node(folder, ...args) {
  const { status, stdout, stderr } = spawnSync(process.execPath, args, { cwd: folder, encoding: 'utf8', timeout: 60_000 })
  return { status, stdout, stderr }
}

// What a scenario expects: `expected.json`, in which fields at their default are left out. See docs/scenarios.md.

import { readFileSync } from 'node:fs'
import { join } from 'node:path'

import { projectFolder } from '../helpers.mjs'
import { contains } from './player.mjs'

const defaults = JSON.parse(readFileSync(join(projectFolder, 'tests/scenarios/defaults.json'), 'utf8'))

/** An expected value with the default fields that were left out. */
export function filled(value, name = '') {
  if (Array.isArray(value)) return value.map((item) => filled(item, name))
  if (typeof value !== 'object' || value === null) return value
  const rules = defaults.filter((rule) => (rule.in ?? name) === name && contains(value, rule.with))
  const whole = Object.assign({}, ...rules.map((rule) => rule.fields), value)
  return Object.fromEntries(Object.entries(whole).map(([key, item]) => [key, filled(item, key)]))
}

/**
 * Models that are known.
 */

import { enter } from './bridge.js'
import { native } from './native.js'
import type { ModelSpec } from './options.js'

/** A model of the list. It can be given as an agent's `model`, as it is or changed. */
export interface KnownModel extends ModelSpec {
  label: string
  contextWindow: number
  maxOutputTokens: number
  input: ('text' | 'image')[]
  /** Whether it thinks, or how: a word of the quirk `thinking`. */
  thinking: boolean | string
  /** US dollars per million tokens; missing when no price is known. */
  cost?: { input: number; output: number; cacheRead: number; cacheWrite: number }
}

/**
 * The models that are known, by provider and id. What a model's name or object leaves open is taken from here; a model that is not
 * here works, with an unknown cost.
 */
export function models(): KnownModel[] {
  return JSON.parse(enter(() => native.models())) as KnownModel[]
}

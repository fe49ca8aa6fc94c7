/**
 * The catalogue of known models.
 */

import { enter } from './bridge.js'
import { native } from './native.js'
import type { ModelSpec, PriceTier } from './options.js'

/** A model of the catalogue. An agent accepts it as `model`, unchanged or modified. */
export interface KnownModel extends ModelSpec {
  /** The model's name for display. */
  label: string
  /** The context window in tokens. */
  contextWindow: number
  /** The most tokens of one answer. */
  maxOutputTokens: number
  /** The kinds of input that the model accepts. */
  input: ('text' | 'image' | 'document' | 'audio')[]
  /** Whether the model supports thinking, or in which form: a value of the quirk `thinking`. */
  thinking: boolean | string
  /** US dollars per million tokens; absent if the price is not known. */
  cost?: { input: number; output: number; cacheRead: number; cacheWrite: number; tiers?: PriceTier[] }
}

/**
 * Returns the known models, listed by provider and id. Limits and prices that a model's name or object leaves open are taken from
 * this catalogue; a model that is not in it works, with an unknown cost.
 */
export function models(): KnownModel[] {
  return JSON.parse(enter(() => native.models())) as KnownModel[]
}

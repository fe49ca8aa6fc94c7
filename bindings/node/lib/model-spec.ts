/** A model as an object. Not among the options: types for browsers have it, too. */

/** Prices of a whole request whose prompt has more than `above` tokens, cached ones included. One that is left out stays. */
export interface PriceTier {
  above: number
  input?: number | undefined
  output?: number | undefined
  cacheRead?: number | undefined
  cacheWrite?: number | undefined
}

/** A model as an object, where `provider/id` is not enough. */
export interface ModelSpec {
  provider: string
  id: string
  /** The model's name for display. */
  label?: string | undefined
  /**
   * The entry of `models()` whose limits and prices apply, where `id` is a custom name (an Azure deployment, an alias):
   * `openai/gpt-5`.
   */
  baseModel?: string | undefined
  /** The wire format; the provider's by default. */
  protocol?: 'anthropic' | 'openai_responses' | 'openai_chat' | 'gemini' | 'bedrock_converse' | 'relay' | undefined
  /** The server's address, with or without `/v1`; the provider's by default. */
  baseUrl?: string | undefined
  /** Added to each request to this model. */
  headers?: Record<string, string> | undefined
  /** The project on Vertex AI; `GOOGLE_CLOUD_PROJECT` by default. */
  project?: string | undefined
  /** The location on Vertex AI, a region or `global`; `GOOGLE_CLOUD_LOCATION` by default. */
  location?: string | undefined
  /** Azure's `api-version`; `AZURE_OPENAI_API_VERSION` by default. */
  apiVersion?: string | undefined
  /** The context window in tokens. */
  contextWindow?: number | undefined
  /** The most tokens of one answer. */
  maxOutputTokens?: number | undefined
  /** The kinds of input that the model accepts. */
  input?: ('text' | 'image' | 'document' | 'audio')[] | undefined
  /** Whether the model supports thinking, or in which form: a value of the quirk `thinking`. */
  thinking?: boolean | string | undefined
  /** US dollars per million tokens. */
  cost?:
    | {
        input?: number | undefined
        output?: number | undefined
        cacheRead?: number | undefined
        cacheWrite?: number | undefined
        tiers?: PriceTier[] | undefined
      }
    | undefined
  /** Differences of its server; the names are in `docs/providers.md`. */
  quirks?: Record<string, unknown> | undefined
  /** The answers of a `scripted` model, each a list of steps. Their names are in snake case: `docs/testing.md`. */
  script?: unknown
}

// A relay: a model behind your own server, which has the key. Clients have a token. `node relay.mjs [--port N] MODEL [BASE_URL]`
//
// MODEL is `provider/id`, or a JSON object. The token is AGENT_RELAY_TOKEN, here and at the clients, whose model is
// `relay/provider/id` with the address that this prints as base URL. The wire format is described in the engine's
// `core/proto/src/protocol/relay/mod.rs`.

import { createHash, timingSafeEqual } from 'node:crypto'
import { createServer } from 'node:http'
import { pipeline } from 'node:stream/promises'
import { parseArgs } from 'node:util'

import { AgentError, resume, tool } from 'agent-loop'

/** @import { IncomingMessage } from 'node:http' */
/** @import { AssistantMessage, Context, JsonSchema, ModelSpec, Run, StandardMessage } from 'agent-loop' */
/** @typedef {{ name: string, description: string, parameters: JsonSchema }} OfferedTool */
/** @typedef {{ system_prompt?: string, messages?: StandardMessage[], tools?: OfferedTool[] }} AskedContext */
/** @typedef {{ model?: ModelSpec, context?: AskedContext, options?: Record<string, unknown> }} Asked */

/** The options that clients may set: no keys, headers or addresses. */
const OPTIONS = {
  temperature: 'temperature',
  max_tokens: 'maxTokens',
  stop_sequences: 'stopSequences',
  tool_choice: 'toolChoice',
  session_id: 'sessionId',
  cache_retention: 'cacheRetention',
  thinking_level: 'thinkingLevel',
  thinking_budgets: 'thinkingBudgets',
}
const MOST_BYTES = 32_000_000

const { token, port, model, baseUrl } = readArguments()
const name = typeof model === 'string' ? model : `${model.provider}/${model.id}`
// One turn, because the client runs the loop; no retries, because the client retries.
const settings = { model, baseUrl, maxTurns: 1, maxRetries: 0 }
const maker = await findMaker().catch((error) => {
  if (!(error instanceof AgentError)) throw error
  console.error(`${error.kind}: ${error.message}`)
  process.exit(1)
})

const server = createServer(async (request, response) => {
  try {
    if (request.method !== 'POST' || request.url !== '/api/stream') throw refusal(404, 'there is only POST /api/stream')
    if (!isOurToken(request.headers.authorization)) {
      throw refusal(401, 'the token is wrong; it is the AGENT_RELAY_TOKEN of the relay')
    }
    const run = start(await readBody(request))
    response.once('close', () => run.abort())
    response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-store' })
    await pipeline(answerOf(run), response)
  } catch (caught) {
    /** @type {Error & { status?: number, kind?: string }} */
    const error = caught instanceof Error ? caught : new Error(String(caught))
    // After the answer has started, the only error is that the client has closed the connection.
    if (response.headersSent) return
    response.writeHead(error.status ?? 400, { 'content-type': 'application/json' })
    response.end(JSON.stringify({ error: { type: error.kind ?? 'invalid_request', message: error.message } }))
  }
})
server.listen(port, '127.0.0.1', () => {
  const address = server.address()
  if (address && typeof address === 'object') console.log(`http://127.0.0.1:${address.port}`)
})

/** The provider, protocol and model of the answers. An aborted run reports them without calling the model. */
async function findMaker() {
  const run = resume({ messages: [{ role: 'user', content: 'Who?' }] }, { ...settings, signal: AbortSignal.abort() })
  for await (const event of run) {
    if (event.type !== 'message_start' || event.message.role !== 'assistant') continue
    const { provider, protocol, model } = event.message
    return { provider, protocol, model }
  }
  throw new Error('the run has no message')
}

/**
 * Starts the run that a client requests. Throws if the request is invalid, before the answer starts.
 * @param {Asked} request
 */
function start({ model, context, options = {} }) {
  const asked = `${model?.provider}/${model?.id}`
  if (asked !== name) throw refusal(404, `there is no model ${asked} here, only ${name}`)
  const { system_prompt: systemPrompt, messages = [], tools = [] } = context ?? {}
  // For the client these messages are the relay's. Signatures are sent back only to the model that made them.
  const isOurs = (/** @type {AssistantMessage} */ { protocol, model }) => protocol === 'relay' && model === name
  const ours = messages.map((one) => (one.role === 'assistant' && isOurs(one) ? { ...one, ...maker } : one))
  const chosen = Object.entries(OPTIONS).filter(([theirs]) => theirs in options)
  return resume(
    { systemPrompt, messages: ours, tools: tools.map(offered) },
    { ...settings, ...Object.fromEntries(chosen.map(([theirs, option]) => [option, options[theirs]])) },
  )
}

/**
 * A tool of the client: the model may call it, and the client runs it.
 * @param {OfferedTool} tool
 */
function offered({ name, description, parameters }) {
  return tool({
    name,
    description,
    parameters,
    execute() {
      throw new Error('the client runs its tools itself')
    },
  })
}

/**
 * The answer's events, as the lines of an event stream.
 * @param {Run} run
 */
async function* answerOf(run) {
  yield line({ type: 'start' })
  for await (const event of run) {
    if (/^(text|thinking|tool_call)_/.test(event.type)) yield line(event)
    if (event.type !== 'message_end' || event.message.role !== 'assistant') continue
    const { stop_reason, raw_stop_reason, response_id, response_model, usage, error } = event.message.toJSON()
    const end = { stop_reason, raw_stop_reason, response_id, response_model, usage }
    yield line(error ? { type: 'error', error, usage } : { type: 'done', ...end })
    // Leaving the loop aborts the run before it executes tools.
    return
  }
}

/** @param {object} event */
function line(event) {
  return `data: ${JSON.stringify(event)}\n\n`
}

/** @param {IncomingMessage} request */
async function readBody(request) {
  const chunks = []
  let size = 0
  for await (const chunk of request) {
    if ((size += chunk.length) > MOST_BYTES) throw refusal(413, `the request has more than ${MOST_BYTES} bytes`)
    chunks.push(chunk)
  }
  return JSON.parse(Buffer.concat(chunks).toString())
}

/** Takes as long for a wrong token as for the right one. */
function isOurToken(authorization = '') {
  const hash = (/** @type {string} */ text) => createHash('sha256').update(text).digest()
  return timingSafeEqual(hash(authorization), hash(`Bearer ${token}`))
}

/**
 * @param {number} status
 * @param {string} message
 */
function refusal(status, message) {
  return Object.assign(new Error(message), { status })
}

function readArguments() {
  const token = process.env.AGENT_RELAY_TOKEN
  try {
    const { values, positionals } = parseArgs({ options: { port: { type: 'string', default: '8787' } }, allowPositionals: true })
    const [given, baseUrl, ...more] = positionals
    if (token && given && more.length === 0) {
      /** @type {string | ModelSpec} */
      const model = given.startsWith('{') ? JSON.parse(given) : given
      return { token, port: Number(values.port), model, baseUrl }
    }
  } catch {
    // An unknown option.
  }
  console.error('usage: AGENT_RELAY_TOKEN=... relay [--port N] MODEL [BASE_URL]')
  process.exit(2)
}

// Drives a run by hand: the program's own HTTP, timers and tool. `node step.mjs [MODEL [BASE_URL]]`

import { AgentError, Loop } from 'agent-loop'

/** @import { CallModelAction, ErrorInfo } from 'agent-loop' */

const weather = {
  name: 'weather',
  description: 'The weather in a city.',
  parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
}

/**
 * @param {string} [model]
 * @param {string} [baseUrl]
 */
async function main(model = 'anthropic/claude-sonnet-4-5', baseUrl) {
  let run = new Loop({ model, baseUrl, prompt: 'Rain in Oslo?', systemPrompt: 'Be brief.', tools: [weather] })
  /** @type {NodeJS.Timeout | undefined} */
  let timer
  /** @type {Map<number, AbortController>} */
  const requests = new Map()
  /** @type {() => void} */
  let wake = () => {}

  /**
   * Sends a request of the loop, and hands in the response as it comes.
   * @param {CallModelAction} action
   */
  async function send({ call, url, method, headers, auth, body }) {
    const key = auth.variables.map((name) => process.env[name]).find((value) => value)
    const keyed = key === undefined ? headers : { ...headers, [auth.header]: auth.prefix + key }
    const controller = new AbortController()
    requests.set(call, controller)
    try {
      // A response that is an error is one for the loop: it knows what each provider means.
      const response = await fetch(url, { method, headers: keyed, body, redirect: 'manual', signal: controller.signal })
      const given = Object.fromEntries(response.headers)
      run.handle({ type: 'model_response', call, status: response.status, headers: given })
      for await (const chunk of response.body ?? []) {
        run.modelBytes(call, chunk)
        wake()
      }
      run.handle({ type: 'model_end', call })
    } catch (error) {
      if (!controller.signal.aborted) {
        run.handle({ type: 'model_end', call, error: { kind: 'connection', message: String(error) } })
      }
    }
    requests.delete(call)
    wake()
  }

  while (true) {
    const action = run.poll(Date.now())
    if (action === undefined) {
      await /** @type {Promise<void>} */ (new Promise((resolve) => (wake = resolve)))
      continue
    }
    switch (action.type) {
      case 'event':
        if (action.event.type === 'text_delta') process.stdout.write(action.event.delta)
        break
      case 'call_model':
        send(action)
        break
      case 'cancel_model':
        requests.get(action.call)?.abort()
        break
      case 'call_tool':
        console.log(`[${action.toolName}]`)
        // The process could end here, and another one load the text and go on.
        run = Loop.load(run.save())
        run.handle({ type: 'tool_done', call: action.call, result: { ...action.arguments, sky: 'rain', celsius: 7 } })
        break
      case 'set_timer':
        clearTimeout(timer)
        if (action.atMs !== null) timer = setTimeout(() => wake(), action.atMs - Date.now())
        break
      case 'done': {
        clearTimeout(timer)
        const { error, usage } = action.result
        if (error) return failed(error)
        console.log(`\n${usage.total} tokens`)
        return
      }
    }
  }
}

/** @param {ErrorInfo} error */
function failed({ kind, message }) {
  console.error(`${kind}: ${message}`)
  process.exitCode = 1
}

await main(...process.argv.slice(2)).catch((error) => {
  if (!(error instanceof AgentError)) throw error
  failed(error)
})

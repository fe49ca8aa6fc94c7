// What callbacks throw: it reaches the code around them, and the error of the run has it as its cause.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as tick } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

import { Agent, AgentError, CallbackError, ProviderError, RateLimitedError, run } from 'agent-loop'

import { calls, does, says, scripted, toolTexts } from './helpers.mjs'

class Unlucky extends Error {}

const unlucky = () => {
  throw new Unlucky('boom')
}
const unluckyLater = async () => {
  await tick()
  unlucky()
}
const FAILING = [unlucky, unluckyLater]

/** The error of a run. */
async function errorOf(agent) {
  try {
    await agent.prompt('go')
  } catch (error) {
    assert.ok(error instanceof AgentError, String(error))
    return error
  }
  throw new Error('the run has not failed')
}

const ENDING = ['transformContext', 'convertToLlm', 'getApiKey', 'beforeRun', 'getSteeringMessages', 'prepareNextTurn']
const ENDING_LATER = ['shouldStopAfterTurn', 'getFollowUpMessages']

test('found_e15_what_a_hook_throws_is_the_cause_of_the_runs_error', async () => {
  for (const name of [...ENDING, ...ENDING_LATER]) {
    for (const hook of FAILING) {
      const error = await errorOf(scripted([says('hello')], { [name]: hook }))
      assert.ok(error instanceof CallbackError, name)
      assert.match(error.message, /failed: boom$/)
      assert.ok(error.cause instanceof Unlucky, name)
      assert.match(error.cause.stack, /unlucky/)
      // As in Node's own errors.
      assert.ok(!Object.keys(error).includes('cause'))
      assert.equal(error.toJSON().cause, undefined)
    }
  }
})

test('found_e15_onPayload_and_answers_that_are_no_json_have_their_cause', async () => {
  const model = { provider: 'openai', id: 'gpt-4o', baseUrl: 'http://127.0.0.1:9/v1' }
  const error = await errorOf(new Agent({ model, apiKey: 'k', onPayload: unlucky }))
  assert.ok(error.cause instanceof Unlucky)
  const odd = await errorOf(scripted([says('hello')], { transformContext: () => 1n }))
  assert.ok(odd.cause instanceof TypeError && odd.message.endsWith(odd.cause.message))
})

test('found_e15_streams_and_other_ways_to_start_have_the_cause', async () => {
  const agent = scripted([says('hello')], { transformContext: unlucky })
  const read = async (stream) => {
    for await (const event of stream) assert.equal(event.runId, stream.id)
  }
  await assert.rejects(read(agent.stream('go')), (error) => error.cause instanceof Unlucky)
  await assert.rejects(agent.stream('go').result(), (error) => error.cause instanceof Unlucky)
  await assert.rejects(agent.resume(), (error) => error.cause instanceof Unlucky)
  const model = { provider: 'scripted', id: 's', script: [says('hello')] }
  const stateless = run({}, 'go', { model, transformContext: unlucky })
  await assert.rejects(read(stateless), (error) => error.cause instanceof Unlucky)
  await assert.rejects(stateless.result(), (error) => error.cause instanceof Unlucky)
})

test('found_e15_onError_and_afterRun_see_the_cause', async () => {
  const seen = []
  const error = await errorOf(
    scripted([says('hello')], {
      transformContext: unlucky,
      onError: (failure) => void seen.push(failure.error.cause),
      afterRun: (result) => void seen.push(result.error.cause),
    }),
  )
  assert.equal(seen.length, 2)
  assert.ok(seen.every((one) => one === error.cause && one instanceof Unlucky))
})

test('found_e15_what_a_provider_throws_is_the_cause', async () => {
  const providers = [
    unlucky,
    unluckyLater,
    async function* () {
      yield 'a piece'
      unlucky()
    },
    function* () {
      yield 'a piece'
      unlucky()
    },
  ]
  for (const provider of providers) {
    const error = await errorOf(new Agent({ model: 'mine/m', provider }))
    assert.ok(error instanceof ProviderError && error.cause instanceof Unlucky)
  }
  const limited = new RateLimitedError({ kind: 'rate_limited', message: 'slow down', retryable: false })
  const error = await errorOf(
    new Agent({
      model: 'mine/m',
      provider: () => {
        throw limited
      },
    }),
  )
  assert.ok(error instanceof RateLimitedError && error.cause === limited)
})

test('found_e15_what_is_thrown_may_be_no_error', async () => {
  for (const thrown of ['text', 0, null, undefined, { code: 7 }]) {
    const error = await errorOf(
      scripted([says('hello')], {
        transformContext: () => {
          throw thrown
        },
      }),
    )
    assert.ok('cause' in error)
    assert.equal(error.cause, thrown)
  }
})

test('found_e15_middleware_gets_what_the_tool_has_thrown', async () => {
  for (const fails of FAILING) {
    const seen = []
    const look = async (_, next) => {
      try {
        return await next()
      } catch (error) {
        seen.push(error)
        throw error
      }
    }
    const through = (...middleware) => scripted([calls(['a', 't']), says('x')], { tools: [does('t', fails)], middleware })
    assert.deepEqual(toolTexts(await through(look, (_, next) => next(), look).prompt('go')), [['boom', true]])
    assert.equal(seen.length, 2)
    assert.ok(seen[0] === seen[1] && seen[0] instanceof Unlucky)
    const repair = (_, next) => next().catch((error) => `repaired ${error.constructor.name}`)
    assert.deepEqual(toolTexts(await through(repair, look).prompt('go')), [['repaired Unlucky', false]])
    // What a middleware throws reaches the one around it.
    const other = (_, next) =>
      next().catch((error) => {
        throw new RangeError('other', { cause: error })
      })
    assert.deepEqual(toolTexts(await through(look, other).prompt('go')), [['other', true]])
    assert.ok(seen.at(-1) instanceof RangeError && seen.at(-1).cause instanceof Unlucky)
  }
})

test('found_e15_what_is_no_error_is_the_cause_of_one_in_middleware', async () => {
  for (const thrown of ['text', null, undefined, { code: 7 }]) {
    let seen
    const tool = does('t', () => {
      throw thrown
    })
    const look = (_, next) => next().catch((error) => ((seen = error), 'repaired'))
    await scripted([calls(['a', 't']), says('x')], { tools: [tool], middleware: [look] }).prompt('go')
    assert.ok(seen instanceof Error && 'cause' in seen && typeof seen.message === 'string')
    assert.equal(seen.cause, thrown)
  }
})

test('found_e15_parallel_calls_and_second_tries_get_their_own', async () => {
  const seen = []
  const twice = async (call, next) => {
    for (const n of [call.arguments.n, call.arguments.n + 100]) {
      await next({ n }).catch((error) => seen.push([call.arguments.n, error.n]))
    }
    return 'done'
  }
  const tool = does('t', async ({ n }) => {
    await tick()
    throw Object.assign(new Unlucky(`boom ${n}`), { n })
  })
  const many = Array.from({ length: 20 }, (_, n) => [`c${n}`, 't', { n }])
  await scripted([calls(...many), says('x')], { tools: [tool], middleware: [twice] }).prompt('go')
  assert.equal(seen.length, 40)
  assert.ok(seen.every(([of, n]) => n % 100 === of))
})

test('found_e15_a_failure_that_nothing_threw_is_an_error_with_its_text', async () => {
  let seen
  const agent = scripted([calls(['a', 't']), says('x')], {
    tools: [does('t', () => new Promise(() => {}))],
    middleware: [
      (_, next) =>
        next().catch((error) => {
          seen = error
          throw error
        }),
    ],
    abortGraceMs: 1,
  })
  agent.subscribe((event) => {
    if (event.type === 'tool_execution_start') setTimeout(() => agent.abort(), 5)
  })
  await agent.prompt('go')
  await tick()
  assert.equal(seen?.message, 'aborted')
})

setFlagsFromString('--expose-gc')
const gc = runInNewContext('gc')

const collect = async () => {
  for (let i = 0; i < 20; i++) {
    await tick()
    gc()
  }
}

test('found_e15_what_was_thrown_goes_with_its_run', async () => {
  const alive = []
  const fails = () => {
    const error = new Unlucky('boom')
    alive.push(new WeakRef(error))
    throw error
  }
  const agent = scripted([calls(['a', 't']), says('x')], {
    tools: [does('t', fails)],
    middleware: [(_, next) => next()],
    shouldStopAfterTurn: fails,
  })
  await (async () => {
    assert.ok((await errorOf(agent)).cause instanceof Unlucky)
  })()
  await collect()
  // The agent and its conversation live on.
  assert.deepEqual(alive.map((one) => one.deref()), [undefined, undefined])
  assert.match(agent.error.message, /failed: boom$/)
})

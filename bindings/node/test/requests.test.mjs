// What changes each request: `prepareRequest` and a system prompt that is a function; and what an application gives its tools and
// hooks (`deps`).

import assert from 'node:assert/strict'
import { test } from 'node:test'

import { Agent, run, tool } from 'agent-loop'

import { calls, says, scripted } from './helpers.mjs'

const who = tool({ name: 'who', description: 'Who asks.', execute: (_args, { deps }) => String(deps) })

const recorder = () => {
  const payloads = []
  return [payloads, ({ payload }) => void payloads.push(payload)]
}

test('prepareRequest gets the request and changes it', async () => {
  const seen = []
  const [payloads, onPayload] = recorder()
  const prepareRequest = (request) => {
    seen.push(JSON.parse(JSON.stringify(request)))
    return request.turn === 1 ? { context: { systemPrompt: 'First.', tools: [] }, thinkingLevel: 'low' } : undefined
  }
  const options = { tools: [who], systemPrompt: 'Be brief.', prepareRequest, onPayload }
  await scripted([calls(['a', 'who', {}]), says('Done.')], options).prompt('go')
  const request = { model: 'scripted/s', system_prompt: 'Be brief.', tools: ['who'], thinking_level: 'off' }
  assert.deepEqual(seen, [{ turn: 1, ...request }, { turn: 2, ...request }])
  assert.deepEqual(payloads.map((one) => [one.system_prompt, one.tools.length]), [['First.', 0], ['Be brief.', 1]])
})

test('a system prompt may be a function', async () => {
  const [payloads, onPayload] = recorder()
  let count = 0
  const systemPrompt = () => `prompt ${count++}`
  const agent = scripted([calls(['a', 'who', {}]), says('a'), says('b'), says('c')], { tools: [who], systemPrompt, onPayload })
  await agent.prompt('go')
  agent.setOptions({ systemPrompt: async ({ deps }) => `for ${deps}` })
  await agent.prompt('go', { deps: 'Ann' })
  agent.setOptions({ systemPrompt: 'plain' })
  await agent.prompt('go')
  assert.deepEqual(payloads.map((one) => one.system_prompt), ['prompt 0', 'prompt 1', 'for Ann', 'plain'])
})

test('a text stands in the place of the function', async () => {
  const [payloads, onPayload] = recorder()
  const script = [says('a'), says('b'), says('c'), says('d')]
  const agent = scripted(script, { systemPrompt: () => "the function's", onPayload })
  await agent.prompt('go', { systemPrompt: 'of the run' })
  assert.throws(() => agent.setOptions({ systemPrompt: 5 }), { message: 'option "systemPrompt": expected text, got 5' })
  assert.throws(() => agent.setOptions({ systemPrompt: 'other', temperature: 'hot' }), { name: 'InvalidArgumentError' })
  await agent.prompt('go')
  agent.systemPrompt = 'set'
  await agent.prompt('go')
  agent.systemPrompt = () => 'another'
  await agent.prompt('go')
  assert.deepEqual(payloads.map((one) => one.system_prompt), ['of the run', "the function's", 'set', 'another'])
})

test('a system prompt and the hook work together', async () => {
  const [payloads, onPayload] = recorder()
  const prepareRequest = async ({ turn }) =>
    turn === 1 ? { context: { systemPrompt: "the hook's" } } : { thinkingLevel: 'high' }
  const options = { tools: [who], systemPrompt: () => "the function's", prepareRequest, onPayload }
  const agent = scripted([calls(['a', 'who', {}]), says('a'), says('b')], options)
  await agent.prompt('go')
  agent.setHook('prepareRequest', null)
  await agent.prompt('go')
  const seen = payloads.map((one) => [one.system_prompt, one.thinking_level])
  assert.deepEqual(seen, [["the hook's", 'off'], ["the function's", 'high'], ["the function's", 'off']])
})

test('what is no change fails the request', async () => {
  for (const [options, text] of [
    [{ systemPrompt: () => 5 }, /systemPrompt: expected the function to return text, got number/],
    [{ prepareRequest: () => 'text' }, /the hook prepare_request failed: its answer cannot be used: expected null or an object/],
    [{ prepareRequest: () => ({ context: { tools: ['x'] } }) }, /there is no tool named "x"; the tools are: who/],
  ]) {
    const error = await scripted([says('a')], { tools: [who], ...options }).prompt('go').catch((error) => error)
    assert.equal(error.kind, 'callback')
    assert.match(error.message, text)
  }
})

test('deps are what tools and hooks find', async () => {
  const seen = []
  const options = {
    tools: [who],
    deps: 'Ann',
    beforeToolCall: (_call, { deps }) => void seen.push(deps),
    middleware: [(call, next) => (seen.push(call.context.deps), next())],
  }
  const agent = scripted([calls(['a', 'who', {}]), says('a'), calls(['b', 'who', {}]), says('b')], options)
  const text = ({ messages }) => messages[2].content[0].text
  assert.equal(text(await agent.prompt('go')), 'Ann')
  assert.equal(text(await agent.stream('go', { deps: 'Bob' }).result()), 'Bob')
  assert.deepEqual(seen, ['Ann', 'Ann', 'Bob', 'Bob'])
})

test('each run has its own deps', async () => {
  const started = (deps) => {
    const model = { provider: 'scripted', id: 's', script: [calls(['a', 'who', {}]), says('a')] }
    return run({ tools: [who] }, 'go', { model, deps }).result()
  }
  const results = await Promise.all(['a', 'b', 'c'].map(started))
  assert.deepEqual(results.map(({ messages }) => messages[2].content[0].text), ['a', 'b', 'c'])
})

test('a tool outside of an agent has deps too', async () => {
  const asks = tool({ name: 'asks', execute: (_args, context) => who.run({}, { context }) })
  assert.equal(await who.run({}, { deps: 'Ann' }), 'Ann')
  assert.equal(await asks.run({}, { deps: 'Ann' }), 'Ann')
})

test('deps are not changed by setOptions', () => {
  const text = `option "deps" is not a plain value; use the constructor, or prompt('…', { deps })`
  assert.throws(() => scripted([says('a')]).setOptions({ deps: 1 }), { message: text })
})

test('stopAfterTurn', async () => {
  const stops = tool({ name: 'stops', execute: () => (stream.stopAfterTurn(), 'stopping') })
  const agent = scripted([calls(['a', 'stops', {}]), says('Done.')], { tools: [stops] })
  agent.stopAfterTurn() // no run: nothing happens
  const stream = agent.stream('go')
  const { outcome, turns } = await stream.result()
  assert.deepEqual([outcome, turns], ['stopped', 1])
  assert.equal((await agent.resume()).text, 'Done.')
  assert.ok(agent instanceof Agent)
})

// Agents as tools of other agents: `Agent.asTool`, and `within` in a tool of one's own.

import assert from 'node:assert/strict'
import { AsyncLocalStorage } from 'node:async_hooks'
import { test } from 'node:test'

import { Agent, tool } from 'agent-loop'

import { calls, does, play, says, scripted, toolTexts } from './helpers.mjs'

const texts = (result) => toolTexts(result).map(([text]) => text)

test('events are objects with a path', async () => {
  const inner = scripted([[{ delta: 'It ' }, { delta: 'rains.' }, { end: {} }]])
  const research = inner.asTool({ name: 'research', description: 'Finds out.' })
  const outer = scripted([calls(['a', 'research', { prompt: 'Rain?' }]), says('Yes.')], { tools: [research] })
  const nested = (await play(outer.stream('go'))).filter(({ type }) => type === 'subagent_event')
  const deltas = nested.filter(({ event }) => event.type === 'text_delta').map(({ event }) => event.delta)
  assert.deepEqual(deltas, ['It ', 'rains.'])
  assert.ok(nested.every(({ path, toolName }) => path.join() === 'a' && toolName === 'research'))
  assert.ok(nested[0].event.runId.startsWith('run_'))
  assert.equal(JSON.parse(JSON.stringify(nested[0])).event.run_id, nested[0].event.runId)
  assert.equal(inner.messages.length, 0)
})

test('a subagent has its own tools, hooks and deps, and the storage of its caller', async () => {
  const storage = new AsyncLocalStorage()
  const seen = []
  const who = does('who', (_, { deps }) => `${deps} ${storage.getStore()}`)
  const options = { tools: [who], deps: 'inner', beforeRun: (prompts) => void seen.push(prompts[0].content[0].text) }
  const inner = scripted([calls(['b', 'who']), says('done')], options)
  inner.setHook('afterToolCall', ({ result }) => void seen.push(result.content[0].text))
  const sub = inner.asTool({ name: 'sub', events: 'none' })
  const outer = scripted([calls(['a', 'sub', { prompt: 'one' }]), says('.')], { tools: [sub], deps: 'outer' })
  await storage.run('here', () => outer.prompt('go'))
  assert.deepEqual(seen, ['one', 'inner here'])
})

test('several run at once, each with its own agent', async () => {
  let running = 0
  let resolve
  const promise = new Promise((given) => (resolve = given))
  // One after the other, they would wait for ever.
  const slow = does('slow', async () => {
    if (++running === 3) resolve()
    await promise
    return 'x'
  })
  async function* provider({ messages }) {
    if (messages.some(({ role }) => role === 'tool_result')) yield 'done'
    else yield { tool_call: { id: 's', name: 'slow', arguments: {} } }
  }
  const inner = new Agent({ model: 'mine/any', provider, tools: [slow], systemPrompt: () => 'Be brief.' })
  const list = ['a', 'b', 'c'].map((id) => [id, 'sub', { prompt: id }])
  const outer = scripted([calls(...list), says('.')], { tools: [inner.asTool({ name: 'sub' })] })
  assert.deepEqual(texts(await outer.prompt('go')), ['done', 'done', 'done'])
  assert.equal(running, 3)
})

test('own parameters, and a prompt of them', async () => {
  const inner = scripted([says('yes'), says('no')])
  const parameters = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] }
  const rain = inner.asTool({ name: 'rain', parameters, prompt: async ({ city }) => `Rain in ${city}?`, keepConversation: true })
  const script = [calls(['a', 'rain', { city: 'Oslo' }]), calls(['b', 'rain', { city: 'Bergen' }]), says('.')]
  assert.deepEqual(texts(await scripted(script, { tools: [rain] }).prompt('go')), ['yes', 'no'])
  assert.deepEqual(inner.messages.map(({ content }) => content[0].text), ['Rain in Oslo?', 'yes', 'Rain in Bergen?', 'no'])
})

test('a tool of one’s own runs an agent within its call', async () => {
  const inner = scripted([says('It rains.'), says('By itself.')])
  const execute = async ({ question }, context) => (await inner.prompt(question, { within: context })).text
  const research = tool({ name: 'research', parameters: { type: 'object', properties: { question: {} } }, execute })
  const outer = scripted([calls(['a', 'research', { question: 'Rain?' }]), says('.')], { tools: [research] })
  const events = await play(outer.stream('go'))
  assert.ok(events.some(({ type, event }) => type === 'subagent_event' && event.type === 'agent_end'))
  assert.equal(await research.run({ question: 'Rain?' }), 'By itself.')
  await assert.rejects(inner.prompt('go', { within: 'no context' }), { kind: 'invalid_argument', message: /"within"/ })
})

test('an abort ends the subagents', async () => {
  const inner = scripted([[{ delta: 'So ' }, { wait_ms: 60_000 }, { end: {} }]])
  const outer = scripted([calls(['a', 'slow', { prompt: 'x' }]), says('.')], { tools: [inner.asTool({ name: 'slow' })] })
  outer.subscribe((event) => {
    if (event.type === 'subagent_event' && event.event.type === 'text_delta') outer.abort()
  })
  const result = await outer.prompt('go')
  assert.equal(result.outcome, 'aborted')
  assert.deepEqual(texts(result), ['the subagent has no whole answer: the run was aborted. Its text so far: So '])
})

test('a kept conversation does not wait for itself', async () => {
  const inner = scripted([calls(['b', 'again', { prompt: 'b' }]), says('Then not.')])
  const again = inner.asTool({ name: 'again', keepConversation: true })
  inner.tools = [again]
  const outer = scripted([calls(['a', 'again', { prompt: 'a' }]), says('Done.')], { tools: [again] })
  assert.deepEqual(texts(await outer.prompt('go')), ['Then not.'])
  assert.match(inner.messages[2].content[0].text, /already at work on this/)
})

test('a call that is cancelled before its turn adds nothing to a kept conversation', async () => {
  const inner = scripted([[{ delta: 'So ' }, { wait_ms: 60_000 }, { end: {} }], says('never')])
  const kept = inner.asTool({ name: 'kept', keepConversation: true })
  const script = [calls(['a', 'kept', { prompt: 'one' }], ['b', 'kept', { prompt: 'two' }]), says('.')]
  const outer = scripted(script, { tools: [kept] })
  outer.subscribe((event) => {
    if (event.type === 'subagent_event' && event.event.type === 'text_delta') outer.abort()
  })
  assert.equal((await outer.prompt('go')).outcome, 'aborted')
  await inner.waitForIdle()
  assert.deepEqual(inner.messages.map(({ content }) => content[0].text), ['one', 'So '])
})

test('another agent goes on after a handoff', async () => {
  const seen = []
  const who = does('who', (_, { deps }) => deps)
  const systemPrompt = () => (seen.push('asked'), 'Other.')
  const other = scripted([calls(['b', 'who']), says('I am the other.')], { tools: [who], deps: 'other', systemPrompt })
  other.setHook('afterToolCall', ({ result }) => void seen.push(result.content[0].text))
  const toOther = other.asHandoff({ name: 'to_other', description: 'Knows.' })
  const mine = scripted([calls(['a', 'to_other']), says('Mine again.')], { tools: [toOther], deps: 'mine' })
  const events = await play(mine.stream('go'))
  const [handoff] = events.filter(({ type }) => type === 'diagnostic')
  assert.deepEqual([handoff.code, handoff.data.tool_name], ['handoff', 'to_other'])
  assert.equal(mine.messages.at(-1).content[0].text, 'I am the other.')
  assert.deepEqual(seen, ['asked', 'other', 'asked'])
  assert.equal((await mine.prompt('again')).text, 'Mine again.')
  assert.throws(() => other.asHandoff({ name: 'a name' }), { message: /tool name/ })
  assert.equal((await toOther.run({})).isError, true)
})

test('what is wrong is said', () => {
  const inner = scripted([says('x')])
  assert.throws(() => inner.asTool({ name: 'sub', events: 'some' }), { message: /events: expected/ })
  assert.throws(() => inner.asTool({ name: 'sub', parameters: { type: 'object' } }), { message: /give prompt, too/ })
  assert.throws(() => inner.asTool({ name: 'a name' }), { message: /tool name/ })
  assert.throws(() => inner.asTool({ name: 'sub', timeout: 3 }), { message: /timeoutMs/ })
  assert.throws(() => inner.asTool('sub'), { message: /expected an object/ })
})

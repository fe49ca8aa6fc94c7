/** Runs for a browser; what is in the frames is the core's business. */

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { test } from 'node:test'

import { Agent, InvalidArgumentError, InvalidStateError, UiRequest, tool } from 'agent-loop'

const CALLS = [{ delta: { tool_call: { id: '1', name: 'pay', arguments: { to: 'ann' } } } }, { end: 'tool_use' }]
const SAYS = [{ delta: 'Done.' }, { end: 'stop' }]
const scripted = (...script) => ({ provider: 'scripted', id: 's', script })

const first = { id: 'u', role: 'user', parts: [{ type: 'text', text: 'Pay Ann.' }] }
const asked = (...more) => ({ id: 'chat', messages: [first, ...more] })
const answered = (approval) => {
  const call = { type: 'tool-pay', toolCallId: '1', state: 'approval-responded', input: {}, approval }
  return { id: 'a', role: 'assistant', parts: [{ type: 'step-start' }, call] }
}

const pay = tool({
  name: 'pay',
  description: 'Pays.',
  parameters: { type: 'object', properties: { to: { type: 'string' } }, required: ['to'] },
  needsApproval: true,
  execute: ({ to }) => ({ paid: to }),
})

const framesOf = (text) => {
  const data = text.split('\n\n').map((frame) => frame.slice('data: '.length))
  return data.filter((frame) => frame !== '' && frame !== '[DONE]').map((frame) => JSON.parse(frame))
}

async function frames(stream) {
  let text = ''
  for await (const piece of stream) text += piece
  return framesOf(text)
}

test('a call is approved, and a request that comes twice is refused', async () => {
  const agent = new Agent({ model: scripted(CALLS, SAYS), tools: [pay] })
  let request = UiRequest.fromAiSdk(asked())
  assert.deepEqual([request.id, request.history, request.prompt.content], ['chat', [], [{ type: 'text', text: 'Pay Ann.' }]])
  let sent = await frames(agent.streamUI(request).toUIMessageStream(request))
  assert.deepEqual(
    sent.slice(-3).map(({ type }) => type),
    ['tool-approval-request', 'finish-step', 'finish'],
  )
  request = UiRequest.fromAiSdk(JSON.stringify(asked(answered({ id: '1', approved: true }))))
  sent = await frames(agent.streamUI(request).toUIMessageStream(request))
  assert.deepEqual(sent[1], { type: 'tool-output-available', toolCallId: '1', output: { paid: 'ann' } })
  assert.throws(() => agent.streamUI(request), InvalidStateError)
})

test('only a client tool takes a result of the browser', async () => {
  const agent = new Agent({ model: scripted(CALLS, SAYS), tools: [pay] })
  await agent.prompt('Pay Ann.')
  const call = { type: 'tool-pay', toolCallId: '1', state: 'output-available', input: {}, output: 'paid' }
  const body = asked({ id: 'a', role: 'assistant', parts: [call] })
  assert.throws(() => agent.streamUI(UiRequest.fromAiSdk(body)), /none of client_tools/)
  assert.deepEqual(
    agent.pending.map(({ toolCallId }) => toolCallId),
    ['1'],
  )
  const request = UiRequest.fromAiSdk(body, { clientTools: ['pay'] })
  const sent = await frames(agent.streamUI(request).toUIMessageStream(request))
  assert.deepEqual(sent[1], { type: 'tool-output-available', toolCallId: '1', output: 'paid' })
  assert.throws(() => UiRequest.fromAiSdk(body, { clientTool: ['pay'] }), /did you mean "clientTools"/)
})

test('an answer is made anew', async () => {
  const agent = new Agent({ model: scripted([{ delta: 'One.' }, { end: 'stop' }], [{ delta: 'Two.' }, { end: 'stop' }]) })
  for (const trigger of ['submit-message', 'regenerate-message']) {
    const request = UiRequest.fromAiSdk({ ...asked(), trigger })
    await frames(agent.streamUI(request).toUIMessageStream(request))
  }
  assert.deepEqual(
    agent.messages.map(({ content }) => content[0].text),
    ['Pay Ann.', 'Two.'],
  )
})

test('an edited message takes the place of one that has no id', async () => {
  const agent = new Agent({ model: scripted([{ delta: 'One.' }, { end: 'stop' }], SAYS) })
  await agent.prompt('Pay Ann.')
  const [{ id }] = agent.toUIMessages()
  const messages = [{ id, role: 'user', parts: [{ type: 'text', text: 'Pay Bob.' }] }]
  const request = UiRequest.fromAiSdk({ id: 'chat', messages, trigger: 'submit-message', messageId: id })
  await frames(agent.streamUI(request).toUIMessageStream(request))
  assert.deepEqual(
    agent.messages.map(({ content }) => content[0].text),
    ['Pay Bob.', 'Done.'],
  )
})

test('a history of the browser, over fetch', async () => {
  const request = UiRequest.fromAiSdk(asked(answered({ id: '1', approved: false })), { openCalls: true })
  const agent = new Agent({ model: scripted(SAYS), tools: [pay], messages: request.history })
  const response = agent.streamUI(request).toUIMessageStream(request).toResponse({ headers: { 'x-own': '1' } })
  assert.equal(response.headers.get('x-vercel-ai-ui-message-stream'), 'v1')
  assert.equal(response.headers.get('x-own'), '1')
  const sent = framesOf(await response.text())
  assert.deepEqual(sent[1], { type: 'tool-output-denied', toolCallId: '1' })
})

test('AG-UI over node:http', async () => {
  const server = createServer(async (_, response) => {
    const request = UiRequest.fromAgUi({ threadId: 't', runId: 'r', messages: [{ id: '1', role: 'user', content: 'Hi' }] })
    await new Agent({ model: scripted(SAYS) }).streamUI(request).toAgUiStream(request).pipe(response)
  }).listen(0)
  await once(server, 'listening')
  const response = await fetch(`http://127.0.0.1:${server.address().port}`)
  assert.equal(response.headers.get('content-type'), 'text/event-stream')
  const sent = framesOf(await response.text())
  assert.deepEqual(sent[0], { type: 'RUN_STARTED', threadId: 't', runId: 'r' })
  assert.equal(sent.at(-1).type, 'RUN_FINISHED')
  server.close()
})

test('a client that leaves aborts the run', async () => {
  let run
  const agent = new Agent({ model: scripted(SAYS) })
  agent.setHook('onPayload', () => new Promise(() => {}))
  const server = createServer((_, response) => {
    run = agent.stream('Hello.', { raiseErrors: false })
    run.toUIMessageStream().pipe(response)
  }).listen(0)
  await once(server, 'listening')
  const response = await fetch(`http://127.0.0.1:${server.address().port}`)
  await response.body.cancel()
  assert.equal((await run.result()).outcome, 'aborted')
  server.close()
})

test('a client that has left before the answer begins aborts the run', async () => {
  const left = { destroyed: true, on() {}, once() {}, off() {}, writeHead() {}, write: () => false, end() {} }
  const agent = new Agent({ model: scripted(SAYS) })
  agent.setHook('onPayload', () => new Promise(() => {}))
  const run = agent.stream('Hello.', { raiseErrors: false })
  await run.toUIMessageStream().pipe(left)
  assert.equal((await run.result()).outcome, 'aborted')
})

test('a page that is loaded again has the answer from its beginning', async () => {
  let resolve
  const promise = new Promise((settle) => (resolve = settle))
  async function* provider() {
    yield 'One, '
    await promise
    yield 'two.'
    yield { end: 'stop' }
  }
  const agent = new Agent({ model: 'own/m', provider })
  assert.equal(agent.resumeUI(), null)
  const request = UiRequest.fromAiSdk(asked())
  const stream = agent.streamUI(request).toUIMessageStream(request, { resumable: true })
  const untilText = async (stream) => {
    let sent = ''
    while (!sent.includes('One, ')) sent += (await stream.next()).value
    return sent
  }
  const before = await untilText(stream)
  await stream.toReadableStream().cancel()
  await stream.return()
  // The page has the question from the conversation, and the answer from the stream.
  assert.deepEqual(
    agent.toUIMessages({ resume: true }).map(({ role }) => role),
    ['user'],
  )
  const again = agent.resumeUI()
  const beside = agent.resumeUI().toResponse().text()
  assert.equal(await untilText(again), before)
  resolve()
  let rest = ''
  for await (const piece of again) rest += piece
  assert.ok(rest.includes('two.') && rest.endsWith('data: [DONE]\n\n'))
  assert.equal(await beside, before + rest)
  assert.equal(agent.toUIMessages().length, 2)
  await agent.prompt('And now?')
  assert.equal(agent.resumeUI(), null)
})

test('a page that has lost its connection goes on where it was', async () => {
  const words = Array.from({ length: 3000 }, (_, word) => ({ delta: `${word} ` }))
  const script = [[...words, { end: 'stop' }], [...words, { end: 'stop' }]]
  const agent = new Agent({ model: { provider: 'scripted', id: 's', script } })
  const request = UiRequest.fromAiSdk(asked())
  const stream = agent.streamUI(request).toUIMessageStream(request, { resumable: true })
  const { value: sent } = await stream.next()
  // Nobody reads it; it goes on, however much it says.
  await agent.waitForIdle()
  const all = async (stream) => {
    let text = ''
    for await (const piece of stream) text += piece
    return text
  }
  const everything = await all(agent.resumeUI())
  assert.ok(everything.startsWith(sent) && everything.includes('2999 ') && everything.endsWith('data: [DONE]\n\n'))
  const ids = [...everything.matchAll(/^id: (.*)$/gm)].map(([, id]) => id)
  const frames = (text) => text.split('data: ').length - 1
  assert.ok(ids.length === frames(everything) && ids.length > 3000)
  for (const index of [0, 1, ids.length >> 1, ids.length - 2, ids.length - 1]) {
    const text = await all(agent.resumeUI(ids[index]))
    assert.ok(everything.endsWith(text))
    assert.equal(frames(text), ids.length - index - 1)
  }
  for (const unknown of ['1', '', `${ids[0]}0000`, null, undefined]) {
    assert.equal(await all(agent.resumeUI(unknown)), everything)
  }
  assert.ok(!(await all(agent.stream('Hello.').toUIMessageStream())).includes('id: '))
})

test('who waits for the result takes nothing from the page', async () => {
  for (const resumable of [true, false]) {
    const run = new Agent({ model: scripted(SAYS) }).stream('Hello.')
    const stream = run.toUIMessageStream(undefined, { resumable })
    const waiting = run.result()
    let sent = ''
    for await (const piece of stream) sent += piece
    assert.ok(sent.includes('"type":"text-delta"') && sent.endsWith('data: [DONE]\n\n'))
    assert.equal((await waiting).outcome, 'completed')
  }
})

test('a comment is sent while there is nothing else', async () => {
  const agent = new Agent({ model: scripted(SAYS) })
  let resolve
  const promise = new Promise((settle) => (resolve = settle))
  agent.setHook('onPayload', () => promise)
  const sent = []
  for await (const piece of agent.stream('Hello.').toUIMessageStream(undefined, { keepAliveMs: 1 })) {
    sent.push(piece)
    if (piece.startsWith(':')) resolve()
  }
  assert.ok(sent.includes(': keep-alive\n\n'))
  assert.ok(sent.at(-1).endsWith('data: [DONE]\n\n'))
})

test('what is wrong is refused', async () => {
  assert.throws(() => new UiRequest('ai-sdk', {}), InvalidArgumentError)
  assert.throws(() => UiRequest.fromAiSdk({ messages: [{ id: '1' }] }), /messages: \/0: role is missing/)
  const agent = new Agent({ model: scripted(SAYS) })
  agent.setHook('onPayload', () => new Promise(() => {}))
  const run = agent.stream('Hello.')
  assert.throws(() => run.toUIMessageStream(undefined, { showError: true }), /did you mean "showErrors"/)
  assert.equal((await run.result()).outcome, 'aborted')
  const wanted = /expected a UiRequest, as UiRequest.fromAiSdk\(body\) reads one, got object/
  assert.throws(() => agent.streamUI({ messages: [] }), wanted)
  assert.throws(() => agent.stream('Hello.').toUIMessageStream({ showErrors: true }), wanted)
})

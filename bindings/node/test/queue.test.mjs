// Steering, follow-up, resume, and changes of the conversation between runs.

import assert from 'node:assert/strict'
import { test } from 'node:test'

import { BusyError, InvalidArgumentError, InvalidStateError } from 'agent-loop'
import { checkEvents } from 'agent-loop/testing'

import { calls, does, moduleOf, play, says, scripted, toolTexts } from './helpers.mjs'

const { native } = moduleOf('native')

const texts = (agent) => agent.messages.map((message) => message.content.map((block) => block.text ?? block.name).join(''))

test('steering joins the run among its calls, follow-up after its end', async () => {
  const agent = scripted([calls(['a', 'one'], ['b', 'two']), says('steered'), says('followed')], {
    toolExecution: 'sequential',
    tools: [
      does('one', () => {
        agent.steer('rather')
        agent.followUp([{ type: 'text', text: 'then' }])
        return 'first'
      }),
      does('two', () => 'second'),
    ],
  })
  const events = await play(agent.stream('go'))
  checkEvents(events)
  const results = toolTexts({ messages: agent.messages })
  assert.deepEqual(results[0], ['first', false])
  assert.match(results[1][0], /skipped/)
  assert.deepEqual(texts(agent).slice(4), ['rather', 'steered', 'then', 'followed'])
})

test('steering modes and policy', async () => {
  const tools = [
    does(
      'one',
      () =>
        void agent.steer([
          { role: 'user', content: 'a' },
          { role: 'user', content: 'b' },
        ]),
    ),
    does('two', () => 'second'),
  ]
  const agent = scripted([calls(['a', 'one'], ['b', 'two']), says('x')], {
    tools,
    toolExecution: 'sequential',
    steeringMode: 'all',
    steeringPolicy: 'after_batch',
  })
  const result = await agent.prompt('go')
  assert.deepEqual([toolTexts(result)[1], result.turns, texts(agent).slice(-3)], [['second', false], 2, ['a', 'b', 'x']])
})

test('a run can be steered, too, and after its end the agent', async () => {
  const script = [says('a'), says('b'), says('c'), says('d')]
  // The run waits for its hook, and so for us.
  const agent = scripted(script, { beforeRun: () => new Promise((resolve) => setImmediate(resolve)) })
  const run = agent.stream('go')
  run.followUp('more')
  assert.equal((await run.result()).text, 'b')
  run.steer('late')
  run.followUp({ role: 'user', content: 'later' })
  assert.equal(agent.hasQueuedMessages(), true)
  assert.equal((await agent.resume()).text, 'd')
  assert.deepEqual(texts(agent).slice(4), ['late', 'c', 'later', 'd'])
  assert.equal(agent.hasQueuedMessages(), false)
})

test('queues are cleared', () => {
  const agent = scripted([])
  for (const clear of ['clearSteeringQueue', 'clearFollowUpQueue']) {
    agent.steer('a')
    agent.followUp('b')
    agent[clear]()
    assert.equal(agent.hasQueuedMessages(), true)
    agent.clearAllQueues()
    assert.equal(agent.hasQueuedMessages(), false)
  }
})

test('an invalid message is refused', () => {
  const agent = scripted([])
  assert.throws(() => agent.steer(5), {
    name: 'InvalidArgumentError',
    message: /expected text, a message or a list of messages, got 5/,
  })
  assert.throws(() => agent.followUp({ role: 'user' }), InvalidArgumentError)
  assert.throws(() => agent.steer(() => {}), InvalidArgumentError)
  assert.equal(agent.hasQueuedMessages(), false)
})

test('resume continues, or reports why it cannot', async () => {
  const agent = scripted(
    [[{ error: { kind: 'server', message: 'no', retryable: false } }], says('now'), calls(['a', 't']), says('done')],
    {
      tools: [does('t', () => 'it')],
    },
  )
  await assert.rejects(agent.resume(), (error) => error instanceof InvalidStateError)
  await assert.rejects(agent.prompt('go'), { kind: 'server' })
  const again = await agent.resume()
  assert.deepEqual([again.text, again.messages.length], ['now', 1])
  await assert.rejects(agent.resume(), { kind: 'invalid_state', message: /^there is nothing to resume/ })
  assert.throws(() => agent.streamResume(), InvalidStateError)
  agent.steer('more')
  const events = await play(agent.streamResume())
  checkEvents(events)
  assert.equal(agent.messages.at(-1).content[0].text, 'done')
})

test('the conversation is changed between runs only', async () => {
  const refused = []
  const agent = scripted([says('a'), says('b')], {
    beforeRun: () => {
      for (const change of [
        () => agent.reset(),
        () => agent.clearMessages(),
        () => agent.appendMessage({ role: 'user', content: 'x' }),
        () => agent.replaceMessages([]),
      ]) {
        try {
          change()
        } catch (error) {
          refused.push(error instanceof BusyError)
        }
      }
    },
  })
  await agent.prompt('go')
  assert.deepEqual(refused, [true, true, true, true])
  assert.deepEqual(texts(agent), ['go', 'a'])
  agent.appendMessage({ role: 'user', content: 'one' })
  agent.appendMessages([
    { role: 'note', some_name: 1 },
    { role: 'user', content: [{ type: 'image', data: 'aGk=', mimeType: 'image/png' }] },
  ])
  assert.deepEqual(agent.messages.map(({ role }) => role), ['user', 'assistant', 'user', 'note', 'user'])
  assert.deepEqual([agent.messages[3], agent.messages[4].content[0].mimeType], [{ role: 'note', some_name: 1 }, 'image/png'])
  const kept = agent.messages
  agent.replaceMessages(kept.slice(0, 2))
  assert.deepEqual(texts(agent), ['go', 'a'])
  agent.replaceMessages([{ role: 'user', content: 'x' }, { role: 'user', content: 'y' }])
  assert.deepEqual(texts(agent), ['x', 'y'], 'as many as before, and others')
  agent.clearMessages()
  assert.deepEqual(agent.messages, [])
  assert.equal((await agent.prompt('again')).text, 'b')
  agent.steer('waits')
  agent.reset()
  assert.deepEqual([agent.messages, agent.hasQueuedMessages(), agent.error], [[], false, null])
  assert.throws(() => agent.appendMessage('text'), { name: 'InvalidArgumentError', message: /^messages: \[0\]: / })
  assert.throws(() => agent.replaceMessages('text'), {
    name: 'InvalidArgumentError',
    message: /^messages: expected an array of messages/,
  })
})

test('the thinking level', () => {
  const agent = scripted([], { thinkingLevel: 'low' })
  assert.equal(agent.thinkingLevel, 'low')
  agent.thinkingLevel = 'xhigh'
  assert.equal(agent.thinkingLevel, 'xhigh')
  assert.throws(() => (agent.thinkingLevel = 'max'), {
    message: 'option "thinkingLevel": expected "off", "minimal", "low", "medium", "high" or "xhigh", got "max"',
  })
})

test('every option is known by its name', () => {
  const options = {
    systemPrompt: 's',
    messages: [],
    baseUrl: 'http://127.0.0.1:1',
    apiKey: 'k',
    headers: { 'x-a': 'b' },
    fallbacks: ['openai/x'],
    output: { type: 'object' },
    outputRetries: 1,
    context: { maxTokens: 100_000, keepLast: 1 },
    temperature: 0,
    topP: 0.5,
    topK: 5,
    seed: -1,
    frequencyPenalty: 1,
    presencePenalty: -1.5,
    extraBody: { x: { innerName: null } },
    hostedTools: [{ type: 'web_search' }],
    maxTokens: 5,
    cacheRetention: 'long',
    rawEvents: true,
    network: { proxy: false },
    record: 'runs.jsonl',
    replay: null,
    builtinTools: ['todo'],
    mcp: [],
    limiter: { requestsPerMinute: 600 },
    traces: false,
    traceContent: true,
    traceparent: '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01',
    agentName: 'Ann',
    maxTurns: 1,
    abortGraceMs: 1,
    toolExecution: 'sequential',
    maxParallelTools: 1,
    validation: 'strict',
    maxResultBytes: 10,
    maxMessageBytes: 1_000_000,
    maxResultBytesKept: 100_000,
    maxCost: null,
    maxTotalTokens: 1_000_000,
    maxOutputTokensTotal: 100_000,
    maxToolCalls: 10,
    maxRunMs: 60_000,
    maxRepeatedCalls: 5,
    gate: { deny: ['rm'] },
    maxSubagentDepth: 1,
    maxTranscriptBytes: 10_000_000,
    thinkingLevel: 'low',
    thinkingBudgets: { low: 1 },
    steeringMode: 'all',
    followUpMode: 'one_at_a_time',
    steeringPolicy: 'skip_remaining',
    connectTimeoutMs: 1,
    firstByteTimeoutMs: 1,
    idleTimeoutMs: 1,
    requestTimeoutMs: 1,
    toolTimeoutMs: 1,
    runTimeoutMs: 1,
    listenerTimeoutMs: 1,
    maxRetries: 0,
    retryBaseMs: 1,
    maxRetryDelayMs: 1,
    stopSequences: ['x'],
    toolChoice: 'none',
    sessionId: 's',
    origin: 'o',
  }
  assert.deepEqual(['model', ...Object.keys(options)].sort(), native.optionNames().sort())
  scripted([], options)
  assert.throws(() => scripted([], { thinkingBudgets: { lots: 1 } }), {
    message: /^option "thinkingBudgets": expected tokens by level/,
  })
  assert.throws(() => scripted([], { followupMode: 'all' }), {
    message: 'unknown option "followupMode"; did you mean "followUpMode"?',
  })
})

test('found_e14_after_its_end_a_run_steers_the_next', async () => {
  const agent = scripted([says('a'), says('b'), says('c')])
  const run = agent.stream('go')
  await run.result()
  assert.deepEqual([run.steer('late'), run.followUp('later')], ['queued', 'queued'])
  assert.equal(agent.hasQueuedMessages(), true)
  await agent.prompt('again')
  assert.deepEqual(texts(agent), ['go', 'a', 'again', 'late', 'b', 'later', 'c'])
})

test('found_e14_resume_if_queued_takes_up_what_waits', async () => {
  const agent = scripted([says('a'), says('b')])
  assert.equal(await agent.resumeIfQueued(), null)
  assert.equal(agent.streamResumeIfQueued(), null)
  assert.equal(agent.steer('hello'), 'queued')
  assert.equal((await agent.resumeIfQueued()).text, 'a')
  agent.followUp('and then')
  // It holds the run until this function waits.
  agent.subscribe(() => {})
  const run = agent.streamResumeIfQueued()
  assert.throws(() => agent.streamResumeIfQueued(), BusyError)
  const events = await play(run)
  assert.equal(events.at(-1).queued, 0)
  assert.deepEqual(texts(agent), ['hello', 'a', 'and then', 'b'])
})

test('a time limit ends the run on the run\'s clock', async () => {
  const agent = scripted([calls(['a', 'slow']), says('x')], {
    runTimeoutMs: 5000,
    tools: [does('slow', (_, { sleep }) => sleep(60_000))],
  })
  await assert.rejects(agent.prompt('go'), { kind: 'timeout', message: /run_timeout_ms \(5000\)/ })
})

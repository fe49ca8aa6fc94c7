// Plays a story: makes the agent, does the steps, and writes down what happened. See docs/scenarios.md.

import { setImmediate } from 'node:timers/promises'

import { Agent, resume, run, tool } from 'agent-loop'

import { Stage, camel, camelNames, canonical } from './act.mjs'

/** The behaviour of a call, of which this one's number is taken from the counter; the last one holds for all further calls. */
function counted(behaviours) {
  let count = 0
  return () => behaviours[Math.min(count++, behaviours.length - 1)] ?? []
}

/** Hooks that get one field of their input, or none. */
const FIELDS = { transform_context: 'messages', convert_to_llm: 'messages', get_api_key: 'provider', before_run: 'prompts' }
const WITHOUT = ['get_steering_messages', 'get_follow_up_messages']

function makeTool({ calls, prepare, ...spec }, stage) {
  const next = counted(calls)
  const options = { ...camelNames(spec), execute: (_, context) => stage.behave(next(), null, { context }) }
  if (prepare) {
    const nextPrepared = counted(prepare)
    options.prepareArguments = (args, context) => stage.behave(nextPrepared(), args, { context })
  }
  return tool(options)
}

/** The hooks of a story, which also write down what they are told, and what the model is asked. */
function makeHooks(story, stage, requests, told) {
  const make = (name) => {
    const next = story.hooks?.[name] && counted(story.hooks[name])
    return async (...given) => {
      const context = given.pop()
      const [value] = canonical(given)
      const input = name in FIELDS ? { [FIELDS[name]]: value } : WITHOUT.includes(name) ? {} : value
      if (name === 'on_payload') requests.push(input.payload)
      if (!next) return undefined
      const { payload, ...rest } = input
      if ('outcome' in rest) delete rest.messages
      told.push({ hook: name, input: rest })
      return stage.behave(next(), FIELDS[name] === 'messages' ? value : null, { context })
    }
  }
  const names = new Set([...Object.keys(story.hooks ?? {}), 'on_payload'])
  return Object.fromEntries([...names].map((name) => [camel(name), make(name)]))
}

function makeMiddleware(behaviours, stage) {
  const nextBehaviour = counted(behaviours)
  return ({ context }, next) => stage.behave(nextBehaviour(), null, { context, next })
}

/** All that happens in a story, in the form of its `expected.json`. */
export async function play(story) {
  const stage = new Stage()
  const [requests, told, runs, steps] = [[], [], [], []]
  const tools = (story.tools ?? []).map((spec) => makeTool(spec, stage))
  const { system_prompt: systemPrompt = '', ...options } = story.options ?? {}
  const settings = {
    model: { provider: 'scripted', id: 'story', script: story.model, ...story.spec },
    ...camelNames(options),
    ...makeHooks(story, stage, requests, told),
    middleware: (story.middleware ?? []).map((behaviours) => makeMiddleware(behaviours, stage)),
  }
  const agent = new Agent({ ...settings, systemPrompt, tools })
  stage.open(agent, story.listeners ?? [])

  /** Reads a run to its end. */
  const finish = async (started) => {
    const events = []
    for await (const event of started) events.push({ ...canonical(event), run_id: 'run' })
    const result = await started.result().catch((error) => {
      if (error.result === undefined) throw error
      return error.result
    })
    const { messages, ...rest } = canonical(result)
    runs.push({ events, result: rest })
    return { outcome: result.outcome }
  }

  const loop = ({ prompt, queue, ...context }) => {
    // The run waits for this before it looks for what is queued.
    const beforeRun = settings.beforeRun ?? (() => setImmediate())
    const given = { systemPrompt: context.system_prompt ?? '', messages: context.messages, tools }
    const started = prompt === undefined ? resume(given, { ...settings, beforeRun }) : run(given, prompt, { ...settings, beforeRun })
    for (const [name, message] of Object.entries(queue ?? {})) started[camel(name)](message)
    return finish(started)
  }

  let background
  const does = {
    prompt: (prompt) => finish(agent.stream(prompt)),
    resume: () => finish(agent.streamResume()),
    run: loop,
    resume_context: loop,
    start: (prompt) => {
      background = agent.stream(prompt)
      return { start: 'ok' }
    },
    finish: () => finish(background),
    has_queued_messages: () => ({ has_queued_messages: agent.hasQueuedMessages() }),
    state: () => ({ state: stage.state() }),
  }
  for (const step of story.steps) {
    const [[name, given]] = Object.entries(step)
    const done = async () => (does[name] ? does[name](given) : stage.act(name, given).then(() => ({ [name]: 'ok' })))
    steps.push(
      await done().catch((error) => {
        if (error.kind === undefined) throw error
        return { error: error.kind }
      }),
    )
  }
  return { steps, runs, requests, hooks: told, log: stage.log, state: stage.state() }
}

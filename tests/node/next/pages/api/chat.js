// An API route of the pages router: the result of a run, whose events are checked.

import { checkEvents } from 'agent-loop/testing'

import { agent } from '../../agent'

export default async function handler(request, response) {
  const run = agent().stream(request.body.text)
  const events = []
  for await (const event of run) events.push(event)
  checkEvents(events)
  const { messages, text } = await run.result()
  response.json({ tool: messages[2].content[0].text, text })
}

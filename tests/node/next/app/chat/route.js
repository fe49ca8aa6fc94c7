// A route handler: the run's events, as they come.

import { agent } from '../../agent'

export async function POST(request) {
  const { text } = await request.json()
  async function* lines() {
    for await (const event of agent().stream(text, { signal: request.signal })) yield `${JSON.stringify(event)}\n`
  }
  const stream = ReadableStream.from(lines()).pipeThrough(new TextEncoderStream())
  return new Response(stream, { headers: { 'content-type': 'application/x-ndjson' } })
}

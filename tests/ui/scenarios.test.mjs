/**
 * What a browser gets of every scenario, checked by the clients' own packages: the AI SDK, versions 6 and 7, and AG-UI.
 * The frames are those that tests/rust/scenarios writes into the folder $UI_FRAMES.
 */

import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'

import { verifyEvents } from '@ag-ui/client'
import { EventSchemas } from '@ag-ui/core/schemas'
import * as ai6 from 'ai'
import * as ai7 from 'ai-7'
import { from, lastValueFrom, toArray } from 'rxjs'

const folder = process.env.UI_FRAMES
assert.ok(folder, 'set UI_FRAMES to the folder of the frames')
const names = readdirSync(folder).filter((name) => name.endsWith('.json'))
assert.ok(names.length > 250, `only ${names.length} scenarios`)

/** The message that the frames make, as `useChat` makes it. */
async function messageOf(ai, frames) {
  const schema = ai.uiMessageChunkSchema()
  for (const frame of frames) {
    const checked = await schema.validate(frame)
    assert.ok(checked.success, `${JSON.stringify(frame)}: ${checked.error}`)
  }
  const errors = []
  const stream = new ReadableStream({
    start(controller) {
      frames.forEach((frame) => controller.enqueue(frame))
      controller.close()
    },
  })
  let last
  for await (const message of ai.readUIMessageStream({ stream, onError: (error) => errors.push(error) })) last = message
  const expected = frames.filter(({ type }) => type === 'error').map(({ errorText }) => errorText)
  assert.deepEqual(
    errors.map(({ message }) => message),
    expected,
  )
  return last
}

for (const name of names) {
  const runs = JSON.parse(readFileSync(join(folder, name), 'utf8'))
  test(name.replace('.json', ''), async () => {
    for (const { ai_sdk: frames, ag_ui: events } of runs) {
      const [six, seven] = [await messageOf(ai6, frames), await messageOf(ai7, frames)]
      assert.deepEqual(JSON.parse(JSON.stringify(six?.parts ?? [])).length, (seven?.parts ?? []).length)
      for (const event of events) EventSchemas.parse(event)
      await lastValueFrom(from(events).pipe(verifyEvents(), toArray()))
    }
  })
}

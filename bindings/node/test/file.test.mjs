// Files as blocks of messages.

import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { pathToFileURL } from 'node:url'

import { Agent, audioBlock, documentBlock, imageBlock, transcript } from 'agent-loop'

const PNG = Buffer.from('iVBORw0KGgo=', 'base64')

test('a block is made from bytes, of a file, and at an address', (t) => {
  const directory = mkdtempSync(join(tmpdir(), 'files-'))
  t.after(() => rmSync(directory, { recursive: true }))
  const [notes, cat] = [join(directory, 'notes.txt'), join(directory, 'cat')]
  writeFileSync(notes, 'hi')
  writeFileSync(cat, PNG)
  const image = { type: 'image', data: 'iVBORw0KGgo=', mimeType: 'image/png' }
  for (const source of [PNG, new Uint8Array(PNG), cat, pathToFileURL(cat)]) assert.deepEqual(imageBlock(source), image)
  assert.deepEqual(imageBlock(PNG, { mimeType: 'image/x' }).mimeType, 'image/x')
  assert.deepEqual(imageBlock(new URL('https://h/a')), { type: 'image', url: 'https://h/a' })
  assert.deepEqual(audioBlock(new URL('https://h/a'), { mimeType: 'audio/wav' }), {
    type: 'audio',
    url: 'https://h/a',
    mimeType: 'audio/wav',
  })
  const text = { type: 'document', data: 'aGk=', mimeType: 'text/plain' }
  assert.deepEqual(documentBlock(notes), { ...text, name: 'notes.txt' })
  assert.deepEqual(documentBlock(notes, { name: 'a' }), { ...text, name: 'a' })
  assert.deepEqual(documentBlock(Buffer.from('hi'), { mimeType: 'text/plain' }), text)
  assert.equal(audioBlock(Buffer.from('RIFF\0\0\0\0WAVE')).mimeType, 'audio/wav')
})

test('what cannot be a block is refused with the reason', () => {
  for (const [make, message] of [
    [() => imageBlock(Buffer.from('?')), 'the type of the file is not recognised; give its mimeType'],
    [
      () => documentBlock(Buffer.from('?'), { name: 'a.xyz' }),
      'the type of the file "a.xyz" is not recognised; give its mimeType',
    ],
    [() => audioBlock(PNG), 'the file is of the type image/png: use imageBlock, or give the mimeType that it has instead'],
    [() => imageBlock(new Uint8Array()), 'the file is empty'],
    [() => imageBlock(5), 'source: expected the path of a file, bytes or a URL, got number'],
    [() => imageBlock(PNG, { name: 'a' }), 'unknown option "name"; known is mimeType'],
    [() => documentBlock(PNG, { title: 'a' }), 'unknown option "title"; known are mimeType, name'],
    [() => imageBlock(PNG, { mimeType: 5 }), 'mimeType: expected text, got 5'],
  ]) {
    assert.throws(make, { name: 'InvalidArgumentError', message })
  }
  assert.throws(() => imageBlock('no/such.png'), { code: 'ENOENT' })
  assert.throws(() => imageBlock('https://h/a.png'), /a text is the path of a file; give an address as new URL/)
})

test('files come back from an agent as they were given', async () => {
  const model = { provider: 'scripted', id: 'files', script: [[{ delta: 'Seen.' }, { end: 'stop' }]] }
  const agent = new Agent({ model })
  const content = [
    { type: 'text', text: 'What are these?' },
    { type: 'image', url: 'https://h/a.png' },
    { type: 'document', data: 'aGk=', mimeType: 'text/plain', name: 'a.txt' },
    { type: 'audio', data: 'aGk=', mimeType: 'audio/wav' },
  ]
  await agent.prompt(content)
  assert.deepEqual(agent.messages[0].content, content)
  assert.deepEqual(JSON.parse(JSON.stringify(agent.messages[0])).content[2].mime_type, 'text/plain')
  const blind = { provider: 'scripted', id: 'm', input: ['text'], script: [] }
  const { repairs } = transcript.repair([{ role: 'user', content }], blind)
  assert.deepEqual(repairs.map(({ code }) => code), ['image_replaced', 'file_replaced'])
  await assert.rejects(agent.prompt([{ type: 'audio', data: 'aGk=', mimeType: 'audio/wav', name: 'a' }]), {
    message: 'prompt: content[0]: audio block: unknown field "name"; only a document has a name',
  })
  await assert.rejects(agent.prompt([{ type: 'document', source: {} }]), {
    message:
      'prompt: content[0]: document block: unknown field "source"; a file is "data" (base64) with "mimeType", or a "url"; ' +
      'transcript import reads such messages (format "anthropic")',
  })
})

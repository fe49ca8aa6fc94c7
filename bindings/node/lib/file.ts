/**
 * Files as blocks of messages: from this machine, from bytes, or at an address.
 *
 * ```ts
 * import { Agent, documentBlock } from 'agent-loop'
 *
 * const agent = new Agent({ model: 'anthropic/claude-sonnet-4-5' })
 * await agent.prompt([{ type: 'text', text: 'What is new in it?' }, documentBlock('report.pdf')])
 * ```
 */

import { readFileSync } from 'node:fs'
import { basename } from 'node:path'
import { fileURLToPath } from 'node:url'
import { checkedNames, textArgument } from './arguments.js'
import { enter } from './bridge.js'
import { invalidArgument } from './errors.js'
import type { AudioBlock, DocumentBlock, ImageBlock } from './message.js'
import { native } from './native.js'
import { kindOf, shown } from './object.js'

/** The path of a file, its bytes, or its address. A URL with the protocol `file:` is a path; the provider reads any other. */
export type FileInput = string | Uint8Array | URL

/** The options of {@link imageBlock} and {@link audioBlock}. */
export interface FileOptions {
  /** The type, for example `image/png`. Without it, the first bytes of the file or the end of its name say it. */
  mimeType?: string | undefined
}

/** The options of {@link documentBlock}. */
export interface DocumentOptions extends FileOptions {
  /** The name of the document; without it, that of the file. */
  name?: string | undefined
}

/**
 * Makes a block of an image: of a file at a path, which is read at once, of bytes, or at an address.
 *
 * @throws Node's own error for a file that cannot be read; {@link InvalidArgumentError} for an empty one, and for one whose type
 * is not recognised.
 */
export function imageBlock(source: FileInput, options?: FileOptions): ImageBlock {
  const { file } = fileOf('image', source, options)
  return { type: 'image', ...file }
}

/** Makes a block of audio, as {@link imageBlock} does. */
export function audioBlock(source: FileInput, options?: FileOptions): AudioBlock {
  const { file } = fileOf('audio', source, options)
  return { type: 'audio', ...file }
}

/** Makes a block of a document, as {@link imageBlock} does. A document of a file has the file's name. */
export function documentBlock(source: FileInput, options?: DocumentOptions): DocumentBlock {
  const { file, name } = fileOf('document', source, options)
  return { type: 'document', ...file, ...(name !== undefined && { name }) }
}

type File = { data: string; mimeType: string } | { url: string; mimeType?: string }

function fileOf(kind: string, source: FileInput, given?: DocumentOptions): { file: File; name: string | undefined } {
  const options: DocumentOptions = checkedNames(given, kind === 'document' ? ['mimeType', 'name'] : ['mimeType'])
  const mimeType = optional('mimeType', options.mimeType)
  let name = optional('name', options.name)
  if (source instanceof URL && source.protocol !== 'file:') {
    return { file: { url: source.href, ...(mimeType !== undefined && { mimeType }) }, name }
  }
  let bytes: Uint8Array
  let fileName = name
  if (source instanceof Uint8Array) {
    bytes = source
  } else if (typeof source === 'string' || source instanceof URL) {
    if (typeof source === 'string' && /^(?:https?|data):/i.test(source)) {
      throw invalidArgument(`source: a text is the path of a file; give an address as new URL(…), got ${shown(source)}`)
    }
    const path = typeof source === 'string' ? source : fileURLToPath(source)
    bytes = readFileSync(path)
    fileName = basename(path)
    name ??= fileName
  } else {
    throw invalidArgument(`source: expected the path of a file, bytes or a URL, got ${kindOf(source)}`)
  }
  const of = fileName === undefined ? '' : ` ${JSON.stringify(fileName)}`
  if (bytes.length === 0) throw invalidArgument(`the file${of} is empty`)
  return { file: { data: Buffer.from(bytes).toString('base64'), mimeType: mimeType ?? known(kind, fileName, bytes, of) }, name }
}

function optional(what: string, value: unknown): string | undefined {
  return value === undefined || value === null ? undefined : textArgument(what, value)
}

/** The type of a file. */
function known(kind: string, name: string | undefined, bytes: Uint8Array, of: string): string {
  const found = enter(() => native.mimeTypeOf(name ?? '', bytes.subarray(0, 16)))
  if (found === '') throw invalidArgument(`the type of the file${of} is not recognised; give its mimeType`)
  const family = found.split('/')[0]
  const fits = family === 'image' || family === 'audio' ? family === kind : kind === 'document'
  if (!fits) {
    const right = family === 'image' || family === 'audio' ? `${family}Block` : 'documentBlock'
    throw invalidArgument(`the file${of} is of the type ${found}: use ${right}, or give the mimeType that it has instead`)
  }
  return found
}

'use strict'
// Texts and messages as elements. Whatever a message has is text: nothing of it is read as HTML.

/** An element: its tag with classes, its attributes, and what is in it. */
function el(tag, attributes, ...children) {
  const [name, ...classes] = tag.split('.')
  const element = document.createElement(name)
  if (classes.length) element.className = classes.join(' ')
  for (const [key, value] of Object.entries(attributes ?? {})) {
    if (typeof value === 'function') element.addEventListener(key, value)
    else if (value !== undefined && value !== false) element.setAttribute(key, value === true ? '' : value)
  }
  element.append(
    ...children.flat(Infinity).filter((child) => child !== undefined && child !== null && child !== false && child !== ''),
  )
  return element
}

/** A duration in milliseconds, in words. */
function duration(ms) {
  if (ms < 1000) return `${Math.round(ms)} ms`
  if (ms < 60_000) return `${(ms / 1000).toFixed(ms < 10_000 ? 2 : 1)} s`
  const minutes = Math.floor(ms / 60_000)
  return minutes < 60
    ? `${minutes} min ${Math.round((ms % 60_000) / 1000)} s`
    : `${Math.floor(minutes / 60)} h ${minutes % 60} min`
}

const count = (number) => Number(number).toLocaleString('en-US')
const plural = (number, word) => `${count(number)} ${word}${number === 1 ? '' : 's'}`
const dollars = (cost) => `$${cost >= 0.1 || cost === 0 ? cost.toFixed(2) : cost.toPrecision(2)}`
/** The time of a day; empty for what has no real one, as of a scripted model. */
const date = (ms) => (ms > 1e12 ? new Date(ms).toLocaleString() : '')
const shortened = (text, most) => (text.length > most ? `${text.slice(0, most)}…` : text)
const pretty = (value) => (typeof value === 'string' ? value : JSON.stringify(value, null, 2))

/** Arguments in one line. */
function brief(given) {
  const entries = Object.entries(given ?? {})
  const shown = (value) => (typeof value === 'string' ? value : JSON.stringify(value)).replace(/\s+/g, ' ')
  if (entries.length === 1) return shortened(shown(entries[0][1]), 120)
  return shortened(entries.map(([key, value]) => `${key}=${shortened(shown(value), 60)}`).join(' '), 120)
}

/** A text within a line: code, bold, italic, links. */
function inline(text) {
  // The pattern takes its time where many of its beginnings have no end.
  if (text.length > 10_000) return [text]
  const nodes = []
  const pattern = /`([^`]+)`|\*\*([^*]+)\*\*|(?<![\w*])\*([^*\s][^*]*)\*(?!\w)|\[([^\]]+)\]\((https?:\/\/[^\s)]+)\)/g
  let last = 0
  for (const match of text.matchAll(pattern)) {
    nodes.push(text.slice(last, match.index))
    const [all, code, bold, italic, label, address] = match
    if (code !== undefined) nodes.push(el('code', {}, code))
    else if (bold !== undefined) nodes.push(el('strong', {}, inline(bold)))
    else if (italic !== undefined) nodes.push(el('em', {}, inline(italic)))
    else nodes.push(el('a', { href: address, rel: 'noreferrer noopener', target: '_blank' }, label))
    last = match.index + all.length
  }
  return [...nodes, text.slice(last)]
}

/** Markdown, as far as models use it most. */
function markdown(text, depth = 0) {
  // What nests deeper, or is longer than anybody reads, is shown as it is.
  if (depth > 20 || text.length > 200_000) return [el('pre', {}, text)]
  const lines = text.split('\n')
  const blocks = []
  const take = (belongs) => {
    const taken = []
    while (lines.length && belongs(lines[0])) taken.push(lines.shift())
    return taken
  }
  const special = /^(```|~~~|#{1,6} |> ?|\s*([-*+]|\d+[.)]) |\|)/
  while (lines.length) {
    const line = lines[0]
    const fence = line.match(/^(```+|~~~+)/)
    if (fence) {
      const language = lines.shift().slice(fence[0].length).trim()
      const code = take((next) => !next.startsWith(fence[0])).join('\n')
      lines.shift()
      blocks.push(block(code, language === 'diff'))
    } else if (/^#{1,6} /.test(line)) {
      blocks.push(el('h5', {}, inline(lines.shift().replace(/^#+ /, ''))))
    } else if (/^> ?/.test(line)) {
      blocks.push(
        el(
          'blockquote',
          {},
          markdown(
            take((next) => /^> ?/.test(next))
              .map((next) => next.replace(/^> ?/, ''))
              .join('\n'),
            depth + 1,
          ),
        ),
      )
    } else if (/^\s*([-*+]|\d+[.)]) /.test(line)) {
      const items = take((next) => /^\s*([-*+]|\d+[.)]) /.test(next) || /^ {2,}\S/.test(next))
      blocks.push(
        el(
          /^\s*\d/.test(line) ? 'ol' : 'ul',
          {},
          items.map((item) => el('li', {}, inline(item.replace(/^\s*([-*+]|\d+[.)])? ?/, '')))),
        ),
      )
    } else if (line.startsWith('|')) {
      blocks.push(el('pre', {}, take((next) => next.startsWith('|')).join('\n')))
    } else if (line.trim() === '') {
      lines.shift()
    } else {
      const first = lines.shift()
      const paragraph = [first, ...take((next) => next.trim() !== '' && !special.test(next))]
      blocks.push(
        el(
          'p',
          {},
          paragraph.flatMap((part, at) => (at ? [el('br'), ...inline(part)] : inline(part))),
        ),
      )
    }
  }
  return blocks
}

/** Code, or what a tool has said; lines of a diff in their colours. It can be scrolled with the keyboard where it is long. */
function block(text, isDiff) {
  const lines = isDiff
    ? text.split('\n').map((line) => el(/^\+/.test(line) ? 'ins' : /^-/.test(line) ? 'del' : 'span', {}, `${line}\n`))
    : text
  const isLong = text.length > 600 || text.split('\n').length > 15
  return el('pre', isLong ? { tabindex: '0', role: 'group', 'aria-label': 'Long text' } : {}, lines)
}

const looksLikeDiff = (text) => /^@@ -\d+(,\d+)? \+\d+(,\d+)? @@/m.test(text)

/** What a tool is to change, as a diff; nothing for other tools. */
function edits(given) {
  const list = Array.isArray(given?.edits) ? given.edits : [given ?? {}]
  const pairs = list.map((edit) => [edit?.old_text ?? edit?.old_string, edit?.new_text ?? edit?.new_string])
  if (!pairs.every(([before, after]) => typeof before === 'string' && typeof after === 'string')) return undefined
  const marked = (text, mark) =>
    text
      .split('\n')
      .map((line) => `${mark}${line}`)
      .join('\n')
  return block(pairs.map(([before, after]) => `${marked(before, '-')}\n${marked(after, '+')}`).join('\n\n'), true)
}

/** What a block of a message is. `results`: those of the calls of the run, by the calls' ids. */
function content(part, results) {
  switch (part.type) {
    case 'text':
      return markdown(part.text)
    case 'thinking':
      return fold(part.redacted ? 'Thinking (hidden by the provider)' : 'Thinking', () => markdown(part.thinking ?? ''))
    case 'image':
      return picture(part)
    case 'audio':
    case 'document':
      return el('p.note', {}, `${part.type}: ${part.name ?? part.mime_type ?? part.url ?? ''}`)
    case 'tool_call':
      return call(part, results)
    default:
      return fold(`${part.type} of the provider`, () => block(pretty(part.data ?? part), false))
  }
}

function picture(part) {
  // One elsewhere is not loaded: this page asks nobody.
  if (!part.data) return el('p.note', {}, `image: ${part.url}`)
  return el('img', {
    src: `data:${part.mime_type};base64,${part.data}`,
    alt: `image of the conversation (${part.mime_type})`,
    loading: 'lazy',
  })
}

/** A tool call with its result, folded. */
function call(part, results) {
  const result = results.get(part.id)
  const state = !result ? 'no result' : result.is_error ? el('span.is-bad', {}, 'failed') : 'done'
  const summary = el('summary', {}, el('code', {}, part.name), ` ${brief(part.arguments)} · `, state)
  // What it has shown to the model is shown, too.
  const pictures = (result?.content ?? []).filter((one) => one.type === 'image').map(picture)
  return [
    fold(
      summary,
      () => [
        edits(part.arguments) ?? block(part.raw_arguments ?? pretty(part.arguments), false),
        result && el('div', {}, el('p.note', {}, result.is_error ? 'Failed with' : 'Result'), toolContent(result)),
      ],
      `call:${part.id}`,
    ),
    pictures,
  ]
}

/** The content of a tool's result. */
function toolContent(result) {
  const parts = (result.content ?? []).filter((part) => part.type !== 'image')
  return parts.map((part) => (part.type === 'text' ? block(part.text, looksLikeDiff(part.text)) : content(part, new Map())))
}

/** Details that are made when they are opened. */
function fold(summary, make, key) {
  const element = el('details.call', { 'data-key': key }, typeof summary === 'string' ? el('summary', {}, summary) : summary)
  const fill = () => {
    if (element.open && element.children.length === 1) element.append(...[make()].flat(Infinity).filter(Boolean))
  }
  element.addEventListener('toggle', fill)
  return element
}

/** The text of a message, to be compared. */
function textOf(message) {
  const parts = Array.isArray(message.content) ? message.content : []
  return parts.map((part) => part.text ?? part.thinking ?? '').join('\n')
}

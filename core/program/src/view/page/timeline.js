// A run in time: one strip for the whole of it, and a row with a bar for each call.

const REASONS = {
  approval: 'approval',
  slot: 'a free slot',
  limiter: 'the rate limiter',
  before: 'a hook, a summary or the rate limiter',
  prepare_arguments: 'its arguments',
}
const reason = (wait) => REASONS[wait.reason] ?? `the hook ${wait.reason}`

/** When something is over; what goes on is until now. */
const until = (entry, now) => entry.end ?? now

/** The time until which a run is shown. */
function endOf(run, isLive) {
  if (run.end) return run.end
  const times = run.entries.flatMap((entry) =>
    [entry.at, entry.start, entry.first, entry.called, entry.end].filter((time) => time !== null && time !== undefined),
  )
  const last = Math.max(run.start, ...times)
  // Not where the time of the run is not that of this machine.
  return isLive && Math.abs(Date.now() - last) < 86_400_000 ? Math.max(last, Date.now()) : last
}

/** When a call was made: what it waited for is over. */
const begun = (entry, end) => Math.max(entry.start, ...entry.waits.map((wait) => wait.end ?? end))

/** The parts of a bar: their class, from when until when, and whether they go on. */
function segments(entry, now) {
  const end = until(entry, now)
  const isOpen = entry.end === null
  const parts = entry.waits.map((wait) => ['wait', wait.start, wait.end ?? end, false])
  if (entry.kind === 'tool') {
    if (entry.called !== null) parts.push([entry.is_error ? 'failed' : 'tool', entry.called, end, isOpen])
    return parts
  }
  const begin = begun(entry, end)
  const solid = entry.error ? 'failed' : 'model'
  if (entry.first === null) return [...parts, [isOpen ? 'first' : solid, begin, end, isOpen]]
  return [...parts, ['first', begin, entry.first, false], [solid, entry.first, end, isOpen]]
}

/** A piece at its place between two times, in per cent. */
function piece([kind, start, end, isOpen], from, to) {
  const whole = Math.max(to - from, 1)
  const clip = (time) => Math.min(Math.max(time, from), to)
  const element = el(`i.${kind}${isOpen ? '.open' : ''}`)
  element.style.setProperty('left', `${((clip(start) - from) / whole) * 100}%`)
  element.style.setProperty('width', `${((clip(end) - clip(start)) / whole) * 100}%`)
  return element
}

const isCall = (entry) => entry.kind === 'model' || entry.kind === 'tool'
const MARKS = { retry: 'retry', queued: 'queued message', approval: 'approval', decisions: 'decision' }

/** The strip of a whole run. What is concurrent has lanes of its own. */
function strip(run, now, label) {
  const lanes = []
  const strip = el('div.over', { role: 'img', 'aria-label': label })
  const put = (element, lane) => {
    element.style.setProperty('top', `${4 + lane * 11}px`)
    strip.append(element)
  }
  for (const entry of run.entries.filter(isCall)) {
    const end = until(entry, now)
    // The models have the first lane.
    const free = lanes.findIndex((busy, lane) => lane > 0 && busy <= entry.start)
    const lane = entry.kind === 'model' ? 0 : free > 0 ? free : Math.max(lanes.length, 1)
    lanes[lane] = end
    for (const part of segments(entry, now)) put(piece(part, run.start, now), lane)
  }
  for (const entry of run.entries.filter((entry) => MARKS[entry.kind])) {
    const mark = piece(['mark', entry.at, entry.at, false], run.start, now)
    mark.title = MARKS[entry.kind]
    put(mark, 0)
  }
  strip.style.setProperty('height', `${Math.max(lanes.length, 1) * 11 + 7}px`)
  return strip
}

/** The rows of a turn, on the scale of the turn. */
function rows(entries, now, key, results) {
  const calls = entries.filter(isCall)
  const from = Math.min(...calls.map((entry) => entry.start))
  const to = Math.max(...calls.map((entry) => until(entry, now)))
  const made = entries.map((entry, at) => {
    if (isCall(entry)) return callRow(entry, from, to, now, `${key}:${at}`, results)
    const text = pointText(entry)
    return text && el('li', {}, el(`div.row.point.is-${entry.kind}`, {}, el('span', {}, text)))
  })
  return el('ul.rows', { 'aria-label': 'Timeline of the turn' }, made)
}

/** What happened at one point of time. */
function pointText(entry) {
  switch (entry.kind) {
    case 'retry':
      return `retry ${entry.attempt} after ${duration(entry.delay_ms)}: ${entry.error?.message ?? ''}`
    case 'queued':
      return `${entry.queue === 'steering' ? 'steering' : 'follow-up'} queued: ${shortened(textOf(entry.message), 80)}`
    case 'approval':
      return `waits for approval: ${entry.calls
        .map((one) => `${one.tool_name} ${brief(one.arguments)} (${one.reason})`)
        .join('; ')}`
    case 'decisions':
      return `decided: ${Object.entries(entry.decisions)
        .map(([id, decision]) => `${id}: ${decided(decision)}`)
        .join('; ')}`
    case 'note':
      return `${entry.code}: ${entry.text}`
    default:
      return undefined
  }
}

/** A decision, in words. */
function decided(decision) {
  const [word, more] = typeof decision === 'string' ? [decision] : (Object.entries(decision ?? {})[0] ?? [''])
  const name = word
    .replace(/([a-z])([A-Z])/g, '$1_$2')
    .toLowerCase()
    .replaceAll('_', ' ')
  const why = more?.reason ?? (typeof more === 'string' ? more : undefined)
  return why ? `${name} (${why})` : name
}

function callRow(entry, from, to, now, key, results) {
  const end = until(entry, now)
  const isOpen = entry.end === null
  const waited = entry.waits
    .filter((wait) => wait.end === null || wait.end - wait.start >= 5)
    .map((wait) =>
      wait.end === null ? `waits for ${reason(wait)}` : `waited ${duration(wait.end - wait.start)} for ${reason(wait)}`,
    )
  const said = []
  let name
  if (entry.kind === 'model') {
    name = `${entry.is_helper ? 'helper model' : 'model'}${entry.model ? ` ${entry.model}` : ''}`
    if (entry.first !== null) said.push(`first token ${duration(entry.first - begun(entry, end))}`)
    if (entry.usage) said.push(`${count(entry.usage.output)} tokens`)
  } else {
    name = `${entry.name} ${brief(entry.arguments)}`
  }
  if (entry.error || entry.is_error) said.push(el('span.is-bad', {}, entry.error ? `failed: ${entry.error.kind}` : 'failed'))
  if (entry.kind === 'tool' && entry.called === null && !isOpen) said.push('not called')
  const isWaiting = entry.waits.some((wait) => wait.end === null && wait.reason === 'approval')
  const took = isWaiting
    ? 'until it is decided'
    : isOpen
      ? `${duration(end - entry.start)} so far`
      : duration(end - entry.start)
  const track = el(
    'span.track',
    { 'aria-hidden': 'true' },
    segments(entry, now).map((part) => piece(part, from, to)),
  )
  const more = el('div.more', { hidden: true })
  const button = el(
    'button.row',
    {
      type: 'button',
      'aria-expanded': 'false',
      'data-key': key,
      click: () => {
        more.hidden = !more.hidden
        button.setAttribute('aria-expanded', String(!more.hidden))
        if (!more.hidden && !more.children.length) more.append(...facts(entry, now, results))
      },
    },
    el('span.name', {}, name),
    el(
      'span.time',
      {},
      [...waited, ...said, took].flatMap((part, at) => (at ? [' · ', part] : [part])),
    ),
    track,
  )
  return el('li', {}, button, more)
}

/** All that is known of a call. */
function facts(entry, now, results) {
  const list = []
  const fact = (name, value) =>
    value !== undefined && value !== null && value !== '' && list.push(el('dt', {}, name), el('dd', {}, value))
  fact('Started', date(entry.start))
  for (const wait of entry.waits)
    fact('Waited', `${wait.end === null ? '' : duration(wait.end - wait.start)} for ${reason(wait)}`.trim())
  if (entry.kind === 'model') {
    fact('Model', entry.model)
    if (entry.first !== null) fact('First token', `after ${duration(entry.first - begun(entry, now))}`)
    if (entry.first !== null && entry.end !== null) fact('Answer', `in ${duration(entry.end - entry.first)}`)
    if (entry.usage) {
      fact('Tokens', tokens(entry.usage))
      fact('Cost', entry.usage.cost && dollars(entry.usage.cost.total))
    }
    fact('Stopped', entry.stop_reason)
  } else {
    fact('Call', el('code', {}, entry.id))
    if (entry.called !== null) fact('Ran', duration(until(entry, now) - entry.called))
  }
  if (entry.error) fact('Error', el('span.is-bad', {}, `${entry.error.kind}: ${entry.error.message}`))
  const result = results.get(entry.id)
  return [
    el('dl', {}, list),
    entry.kind === 'tool' && (edits(entry.arguments) ?? block(pretty(entry.arguments), false)),
    ...(result ? toolContent(result) : []),
  ].filter(Boolean)
}

/** Tokens, in words. */
function tokens(usage) {
  const parts = [`${count(usage.input)} in`, `${count(usage.output)} out`]
  if (usage.cache_read) parts.push(`${count(usage.cache_read)} from the cache`)
  if (usage.cache_write) parts.push(`${count(usage.cache_write)} to the cache`)
  if (usage.reasoning) parts.push(`${count(usage.reasoning)} of them thinking`)
  return parts.join(', ')
}

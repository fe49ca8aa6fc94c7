// The page: its documents as runs and turns, what differs between two of them, and what comes while it is open.

const data = JSON.parse(document.getElementById('data').textContent)
const main = document.getElementById('main')
const isServed = data.version !== null

/** The parts of a run by its turns, in order. */
function turnsOf(run) {
  const turns = new Map()
  for (const entry of run.entries) {
    const turn = Math.max(entry.turn, 1)
    if (!turns.has(turn)) turns.set(turn, [])
    turns.get(turn).push(entry)
  }
  return [...turns].sort(([a], [b]) => a - b)
}

/** The results of a run's calls. Those of a call that waited are in a later run. */
function resultsOf(document) {
  const results = new Map()
  for (const { message } of document.runs.flatMap((run) => run.entries).filter((entry) => entry.kind === 'message')) {
    if (message.role === 'tool_result') results.set(message.tool_call_id, message)
  }
  return results
}

const state = (document, run) =>
  run.outcome ?? (!run.id ? 'messages' : document.is_running === false || !isServed ? 'not finished' : 'running')

/** The sum of what a document's runs have used. */
function sumOf(document) {
  const sum = { input: 0, output: 0, cache_read: 0, cache_write: 0, reasoning: 0, cost: undefined }
  for (const run of document.runs) {
    const parts = run.usage
      ? [run.usage]
      : run.entries.filter((entry) => entry.kind === 'model' && entry.usage).map((entry) => entry.usage)
    for (const part of parts) {
      for (const name of ['input', 'output', 'cache_read', 'cache_write', 'reasoning']) sum[name] += part[name] ?? 0
      if (part.cost) sum.cost = (sum.cost ?? 0) + part.cost.total
    }
  }
  return sum
}

function totals(document) {
  const entries = document.runs.flatMap((run) => run.entries)
  const calls = entries.filter((entry) => entry.kind === 'tool')
  const failed = calls.filter((entry) => entry.is_error).length
  const retries = entries.filter((entry) => entry.kind === 'retry').length
  const models = [...new Set(entries.filter((entry) => entry.kind === 'model' && entry.model).map((entry) => entry.model))]
  const sum = sumOf(document)
  const last = document.runs.at(-1)
  const items = [
    ['Model', models.join(', ')],
    ['Last run', last && state(document, last).replaceAll('_', ' ')],
    ['Runs', count(document.runs.filter((run) => run.id).length)],
    ['Turns', count(document.runs.reduce((turns, run) => turns + run.turns, 0))],
    ['Tool calls', failed ? `${count(calls.length)}, ${count(failed)} failed` : count(calls.length)],
    ['Retries', retries && count(retries)],
    [
      'Time in runs',
      duration(document.runs.filter((run) => run.id).reduce((time, run) => time + endOf(run, isServed) - run.start, 0)),
    ],
    ['Tokens', tokens(sum)],
    ['Cost', sum.cost !== undefined && dollars(sum.cost)],
  ]
  return el(
    'ul.totals',
    { 'aria-label': 'Totals' },
    items.filter(([, value]) => value).map(([name, value]) => el('li', {}, el('b', {}, name), value)),
  )
}

/** What a turn has said and done, to be compared. */
function saidIn(entries) {
  const said = []
  for (const entry of entries ?? []) {
    if (entry.kind !== 'message') continue
    const { message } = entry
    const text = textOf(message)
    if (message.role === 'tool_result') said.push([`the result of ${message.tool_name}`, JSON.stringify(message.content)])
    else if (text.trim()) said.push([message.role === 'assistant' ? 'the answer' : `the ${message.role} message`, text])
    for (const part of Array.isArray(message.content) ? message.content : []) {
      if (part.type === 'tool_call') said.push([`the call of ${part.name}`, JSON.stringify([part.name, part.arguments])])
    }
  }
  return said
}

/** What differs between the same turn of two runs; nothing where they are the same. */
function difference(left, right) {
  const [a, b] = [saidIn(left), saidIn(right)]
  for (let at = 0; at < Math.max(a.length, b.length); at++) {
    if (a[at]?.[1] !== b[at]?.[1])
      return !a[at] ? `${b[at][0]} is only on the right` : !b[at] ? `${a[at][0]} is only on the left` : `${a[at][0]} differs`
  }
  return undefined
}

/** The turns that differ, by run and turn, in order. */
function differences([left, right]) {
  const found = new Map()
  if (!right) return found
  for (let at = 0; at < Math.max(left.runs.length, right.runs.length); at++) {
    const [a, b] = [left, right].map((document) => new Map(document.runs[at] ? turnsOf(document.runs[at]) : []))
    for (const turn of [...new Set([...a.keys(), ...b.keys()])].sort((x, y) => x - y)) {
      const what = difference(a.get(turn), b.get(turn))
      if (what) found.set(`${at}:${turn}`, what)
    }
  }
  return found
}

function messageOf(entry, run, results, hasCall) {
  const { message } = entry
  // They stand in the call.
  if (message.role === 'tool_result' && hasCall.has(message.tool_call_id)) return undefined
  const names = {
    user: 'User',
    assistant: 'Assistant',
    tool_result: `Result of ${message.tool_name}`,
    context_summary: 'Summary of what was before (compaction)',
  }
  const of = entry.queue === 'steering' ? ' · steering' : entry.queue === 'follow_up' ? ' · follow-up' : ''
  const parts = typeof message.content === 'string' ? [{ type: 'text', text: message.content }] : message.content
  const body = Array.isArray(parts)
    ? message.role === 'tool_result'
      ? [toolContent(message), parts.filter((part) => part.type === 'image').map(picture)]
      : parts.map((part) => content(part, results))
    : fold('Data', () => block(pretty(message), false))
  const time = run.id && entry.at >= run.start ? el('span', {}, `+${duration(entry.at - run.start)}`) : undefined
  const error = message.error && el('p.is-bad', {}, `${message.error.kind}: ${message.error.message}`)
  return el(
    `article.message.${/^[a-z_]+$/.test(message.role) ? message.role : 'custom'}`,
    {},
    el('h4', {}, el('span', {}, (names[message.role] ?? message.role) + of), time),
    body,
    error,
  )
}

/** A message; of one that cannot be shown, its JSON: the others still are. */
function shownOrSaid(entry, ...rest) {
  try {
    return messageOf(entry, ...rest)
  } catch (error) {
    return el('article.message', {}, el('h4', {}, `This message cannot be shown: ${error.message}`), block(pretty(entry), false))
  }
}

function turnOf(run, turn, entries, key, results, differs, hasCall) {
  const now = endOf(run, isServed)
  const what = differs.get(key)
  const messages = entries.map((entry) => entry.kind === 'message' && shownOrSaid(entry, run, results, hasCall))
  const timed = run.id && entries.some((entry) => entry.kind !== 'message')
  return el(
    `section.turn${what ? '.other' : ''}`,
    { id: `turn-${key.replaceAll(':', '-')}` },
    el('h3', {}, el('span', {}, `Turn ${turn}`), what && el('span.differs', {}, what)),
    timed
      ? rows(
          entries.filter((entry) => entry.kind !== 'message'),
          now,
          key,
          results,
        )
      : el('div'),
    el('div', {}, messages),
  )
}

function runOf(document, side, at, differs) {
  const run = document.runs[at]
  const now = endOf(run, isServed)
  const results = resultsOf(document)
  const hasCall = new Set(
    document.runs
      .flatMap((one) => one.entries)
      .flatMap(({ kind, message }) =>
        kind === 'message' && message.role === 'assistant' ? (message.content ?? []).map((part) => part.id) : [],
      ),
  )
  const word = state(document, run)
  const turns = turnsOf(run)
  const calls = run.entries.filter(isCall).length
  const label = `The run in time: ${plural(turns.length, 'turn')} and ${plural(calls, 'call')} in ${duration(now - run.start)}`
  const name = run.id ? `Run ${count(at + 1)}` : run.of || 'Messages'
  const over = run.id && calls ? strip(run, now, label) : undefined
  over?.addEventListener('click', (event) => {
    const box = over.getBoundingClientRect()
    const time = run.start + ((event.clientX - box.left) / box.width) * (now - run.start)
    const turn = run.entries.filter((entry) => isCall(entry) && entry.start <= time).at(-1)?.turn ?? 1
    window.document.getElementById(`turn-${side}${at}-${Math.max(turn, 1)}`)?.scrollIntoView({ block: 'start' })
  })
  const key = (turn) => `${at}:${turn}`
  const section = el(
    'section.run',
    { 'data-at': String(at), 'aria-label': side ? `${name}, compared` : name },
    el(
      'div.head',
      {},
      el('h2', {}, name),
      el(`span.state.${word.replaceAll(' ', '_')}`, {}, word.replaceAll('_', ' ')),
      el(
        'p',
        {},
        [
          run.of,
          run.id && duration(now - run.start),
          run.turns && plural(run.turns, 'turn'),
          run.usage?.cost && dollars(run.usage.cost.total),
          date(run.start),
        ]
          .filter(Boolean)
          .join(' · '),
      ),
    ),
    run.error && el('p.is-bad', {}, `${run.error.kind}: ${run.error.message}`),
    over,
    turns.map(([turn, entries]) => turnOf(run, turn, entries, key(turn), results, differs, hasCall)),
  )
  for (const part of section.querySelectorAll('.turn')) part.id = part.id.replace('turn-', `turn-${side}`)
  return section
}

const KEY = [
  ['first', 'waits for the first token'],
  ['model', 'model answers'],
  ['tool', 'tool runs'],
  ['wait', 'waits'],
  ['failed', 'failed'],
  ['mark', 'retry, queued message, decision'],
]

function show() {
  const differs = differences(data.documents)
  const sides = data.documents.map((document, side) => {
    const name = side === 0 && data.documents[1] ? 'Original' : side ? 'Compared with it' : ''
    const about = [name, document.source, document.name, document.title].filter(Boolean).join(' · ')
    return el(
      'div',
      { 'data-side': String(side) },
      el('p.about', {}, about),
      totals(document),
      document.runs.map((_, at) => runOf(document, side, at, differs)),
    )
  })
  const key = el(
    'ul.key',
    { 'aria-label': 'Colours' },
    KEY.map(([kind, text]) => el('li', {}, el(`i.${kind}`), text)),
  )
  const first = [...differs][0]
  const [at, turn] = first?.[0].split(':') ?? []
  const compared =
    data.documents[1] &&
    el(
      'p',
      { id: 'compared' },
      first
        ? [
            `${plural(differs.size, 'turn')} differ${differs.size === 1 ? 's' : ''}. The first: `,
            el('a', { href: `#turn-0${at}-${turn}` }, `run ${Number(at) + 1}, turn ${turn}`),
            `: ${first[1]}.`,
          ]
        : 'Both say and do the same.',
    )
  keeping(() =>
    main.replaceChildren(...[key, compared, el(data.documents[1] ? 'div.two' : 'div.one', {}, sides)].filter(Boolean)),
  )
  const [document] = data.documents
  window.document.getElementById('title').textContent = data.documents[1]
    ? 'Two runs compared'
    : (document.title ?? document.name)
  window.document.title = `${document.title ?? document.name} · agent view`
}

/** Changes the page, and leaves open what was open, and the focus where it was. */
function keeping(change) {
  const path = (element) =>
    `${element.closest('[data-side]')?.dataset.side}/${element.closest('[data-at]')?.dataset.at}/${element.dataset.key}`
  const open = new Set([...main.querySelectorAll('[aria-expanded="true"], details[open][data-key]')].map(path))
  const focused = main.contains(document.activeElement) && document.activeElement.closest('[data-key]')
  const focus = focused && path(focused)
  change()
  for (const element of main.querySelectorAll('[data-key]')) {
    const key = path(element)
    if (open.has(key)) element.tagName === 'DETAILS' ? (element.open = true) : element.click()
    if (key === focus) (element.tagName === 'DETAILS' ? element.firstChild : element).focus()
  }
}

// Rows can be walked through with the arrow keys.
main.addEventListener('keydown', (event) => {
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key]
  if (!step || !event.target.matches?.('button.row')) return
  const all = [...main.querySelectorAll('button.row')]
  all[all.indexOf(event.target) + step]?.focus()
  event.preventDefault()
})

const THEMES = ['system', 'light', 'dark']
const theme = document.getElementById('theme')
function setTheme(name) {
  theme.textContent = `Theme: ${name}`
  if (name === 'system') delete document.documentElement.dataset.theme
  else document.documentElement.dataset.theme = name
}
theme.addEventListener('click', () =>
  setTheme(THEMES[(THEMES.indexOf(document.documentElement.dataset.theme ?? 'system') + 1) % 3]),
)

const status = document.getElementById('status')

/** Asks the server for what is new, for as long as it is there. */
async function follow() {
  status.textContent = 'live'
  for (;;) {
    try {
      // Runs that have ended stay as they are, unless the last of them is another one by now: a file may be written anew.
      const from = data.documents.map(({ runs }) => {
        const open = runs.findIndex((run) => !run.end)
        const kept = open < 0 ? runs.length : open
        const last = runs[kept - 1]
        return [kept, last ? last.entries.length : 0, last ? encodeURIComponent(last.id ?? '') : ''].join('~')
      })
      const response = await fetch(`data?seen=${data.version}&from=${from.join(',')}`)
      if (!response.ok) throw new Error(response.status)
      const news = await response.json()
      status.textContent = news.failure ?? 'live'
      if (!news.documents) continue
      data.version = news.version
      data.documents = news.documents.map(({ from, document }, side) => ({
        ...document,
        runs: [...(data.documents[side]?.runs.slice(0, from) ?? []), ...document.runs],
      }))
      show()
    } catch {
      status.textContent = 'The program agent has ended: this is what there was.'
      await new Promise((resolve) => setTimeout(resolve, 2000))
    }
  }
}

show()
if (isServed) follow()
else status.textContent = 'exported'

// One use of a store from Node: tool.mjs ADDRESS COMMAND ID [ARGUMENT …]. `tool.py` is the same from Python.

import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'

const { AgentError, Store } = createRequire(import.meta.url)('../../bindings/node')

const [address, command, id, ...args] = process.argv.slice(2)

async function main() {
  const store = Store.open(address, { holder: 'node' })
  const session = store.session(id)
  switch (command) {
    case 'append': {
      const open = await session.open()
      for (const record of JSON.parse(args[0])) await open.append([record])
      await open.setInfo({ title: "Zoë's", metadata: { tool_name: { a_b: [1, 2.5, null] } } })
      return open.close()
    }
    case 'hold': {
      const open = await session.open()
      console.log('open')
      for await (const _ of process.stdin);
      return open.close()
    }
    case 'follow':
      for await (const record of session.follow()) {
        console.log(JSON.stringify(record))
        if (record.seq === Number(args[0])) return
      }
      return
    case 'rebuilt': {
      const open = await session.open()
      console.log(JSON.stringify([open.rebuilt, open.messages]))
      return open.close()
    }
    case 'info': {
      const info = await session.info()
      const { title, metadata, createdMs, updatedMs, holder } = info
      console.log(JSON.stringify([info.id, title, metadata, createdMs, updatedMs, holder]))
      return
    }
    case 'fork':
      return session.fork({ at: Number(args[0]), id: args[1] })
    case 'export':
      process.stdout.write(await session.export())
      return
    case 'import':
      return store.import(readFileSync(0, 'utf8'), { id })
  }
}

await main().catch((error) => {
  if (!(error instanceof AgentError)) throw error
  console.log(`${error.kind}: ${error.message}`)
})

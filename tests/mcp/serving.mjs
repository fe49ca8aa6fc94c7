// The client of MCP's package for Node, with an agent as its server: serving.mjs PROGRAM ARGUMENT…, at $MCP_SDK the package.

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { pathToFileURL } from 'node:url'

const load = (name) => import(pathToFileURL(`${process.env.MCP_SDK}/dist/esm/client/${name}.js`).href)
const [{ Client }, { StdioClientTransport }] = await Promise.all([load('index'), load('stdio')])
const [command, ...args] = process.argv.slice(2)

const client = new Client({ name: 'tests', version: '1' })
await client.connect(new StdioClientTransport({ command, args, env: process.env, stderr: 'ignore' }))
assert.equal(client.getServerVersion().name, 'tests')
const { tools } = await client.listTools()
assert.deepEqual(tools.map((tool) => tool.name).sort(), ['desk', 'wait', 'weather'])
assert.equal(tools.find((tool) => tool.name === 'desk').description, 'Knows the weather.')

const call = (name, given, options) => client.callTool({ name, arguments: given }, undefined, options)
const text = (result) => result.content[0].text
const [desk, city] = await Promise.all([
  call('desk', { prompt: 'Rain?' }),
  call('weather', { city: 'Oslo' }),
])
assert.deepEqual([text(desk), text(city), desk.isError], ['It rains.', 'rain in Oslo', false])
assert.equal((await call('weather', {})).isError, true)
assert.equal((await call('desk', { prompt: ' ' })).isError, true)
await assert.rejects(call('nothing', {}), /no tool named "nothing"/)

// A cancelled call is told so, and others go on. (This client drops progress that comes along with the result.)
const abort = new AbortController()
const waiting = call('wait', {}, { signal: abort.signal, onprogress: () => abort.abort('enough') })
await assert.rejects(waiting, /enough/)
const notes = () => readFileSync(process.env.NOTES, { encoding: 'utf8', flag: 'a+' })
while (!notes().includes('cancelled')) await call('weather', { city: 'Bergen' })

// The end of its input ends the server, and aborts what runs.
const left = call('wait', {}, { onprogress: () => void client.close() })
await assert.rejects(left)
while (notes().split('cancelled').length < 3) await new Promise((resolve) => setTimeout(resolve, 10))

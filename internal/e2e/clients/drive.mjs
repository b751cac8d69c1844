// Drives the server as an MCP client would, with an official TypeScript SDK:
// list the tools, start a computer, observe, act, observe, end.
//
//   node drive.mjs v1|legacy|auto|modern SERVER [ARG ...]
//
// v1 is the SDK of the 2025 revisions, the others are modes of the one that speaks
// both eras. It prints one JSON object with what came back.
import { Client as V1 } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport as V1Stdio } from '@modelcontextprotocol/sdk/client/stdio.js'
import { Client as V2 } from '@modelcontextprotocol/client'
import { StdioClientTransport as V2Stdio } from '@modelcontextprotocol/client/stdio'

const [mode, command, ...args] = process.argv.slice(2)
const info = { name: 'end-to-end test', version: '1' }
const server = { command, args, env: process.env, stderr: 'inherit' }
const modes = { legacy: 'legacy', auto: 'auto', modern: { pin: '2026-07-28' } }

const client = mode === 'v1' ? new V1(info) : new V2(info, { versionNegotiation: { mode: modes[mode] } })
await client.connect(mode === 'v1' ? new V1Stdio(server) : new V2Stdio(server))

async function call(name, args) {
  const result = await client.callTool({ name, arguments: args })
  if (result.isError) throw new Error(`${name}: ${JSON.stringify(result.content)}`)
  return result
}
const images = (result) => result.content.filter((c) => c.type === 'image').map((c) => c.mimeType)

const tools = (await client.listTools()).tools.map((t) => t.name)
const started = await call('start_computer', { title: `driven by ${mode}` })
const session = started.structuredContent.session
const first = await call('computer_observe', { session })
const acted = await call('computer_act', {
  session,
  actions: [{ kind: 'move', x: 100, y: 120 }, { kind: 'key', key: 'F5' }],
})
const last = await call('computer_observe', { session, force: true })
const ended = await call('end_session', { session })
await client.close()

console.log(JSON.stringify({
  tools,
  session,
  first: { images: images(first), frame: first.structuredContent.frame },
  acted: { steps: acted.structuredContent.steps.length },
  last: { images: images(last), cursor: last.structuredContent.cursor },
  ended: ended.structuredContent,
}))

/** What Node and `ws` take for idle WebSockets: a server that accepts them and does nothing else. */
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { WebSocketServer } from 'ws'
import { answerWith } from './answer.ts'
import { readMemory } from './read-memory.ts'

let server: Server | undefined

answerWith({
  async start() {
    const sockets = new WebSocketServer({ noServer: true, perMessageDeflate: false })
    server = createServer((_request, response) => void response.end())
    server.on('upgrade', (request, socket, head) =>
      sockets.handleUpgrade(request, socket, head, (one) => {
        one.on('error', () => undefined)
        one.send('{"op":"welcome"}')
      }),
    )
    await new Promise<void>((resolve) => server?.listen(0, '127.0.0.1', resolve))
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  },
  memory: readMemory,
  stop: () => void server?.close(),
})

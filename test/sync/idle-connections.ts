/**
 * What an idle connection of /sync takes, beside one of a server that only accepts WebSockets: both are processes of their own, and
 * the clients are in this one.
 */
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import type { MemoryUse } from '../bench/process/read-memory.ts'
import { startSubject } from '../bench/process/subject.ts'
import { askForWebSocket } from '../support/websocket.ts'

const WARM_UP = 200
const AT_ONCE = 100
const MOST = 30_000 // bytes

const openSockets = async (address: string, count: number): Promise<Socket[]> => {
  const { hostname, port } = new URL(address)
  const sockets: Socket[] = []
  while (sockets.length < count)
    sockets.push(
      ...(await Promise.all(
        Array.from({ length: Math.min(AT_ONCE, count - sockets.length) }, async () => {
          const socket = connect({ host: hostname, port: Number(port) })
          socket.write(askForWebSocket('/sync'))
          let text = ''
          while (!text.includes('"welcome"')) text += (await once(socket, 'data'))[0].toString('latin1')
          return socket
        }),
      )),
    )
  return sockets
}

/** Bytes for each connection. */
const measure = async (name: 'live' | 'bare-sockets', count: number): Promise<MemoryUse> => {
  const subject = startSubject(name, { cores: { server: undefined, description: '' } })
  try {
    const address = await subject.ask<string>('start', { watched: true })
    const sockets = await openSockets(address, WARM_UP)
    const before = await subject.ask<MemoryUse>('memory')
    sockets.push(...(await openSockets(address, count)))
    const after = await subject.ask<MemoryUse>('memory')
    for (const one of sockets) one.destroy()
    return { heap: (after.heap - before.heap) / count, rss: (after.rss - before.rss) / count }
  } finally {
    await subject.stop()
  }
}

/** Resolves with a sentence for what is too much. */
export const checkIdleConnections = async (
  count: number,
  report: (line: string) => void,
): Promise<readonly string[]> => {
  const shown = ({ heap, rss }: MemoryUse): string =>
    `${(heap / 1000).toFixed(1)} kB of heap, ${(rss / 1000).toFixed(1)} kB in all`
  const bare = await measure('bare-sockets', count)
  const own = await measure('live', count)
  report(`each of ${count} idle connections: ${shown(own)}; of a bare server: ${shown(bare)}`)
  return own.rss <= MOST ? [] : [`${Math.round(own.rss)} bytes for an idle connection, of which ${MOST} are asked`]
}

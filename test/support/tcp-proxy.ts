/** A TCP proxy on loopback that a test can listen in on, and that can lose what it carries. */
import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'

export interface TcpProxy {
  readonly port: number
  /** Bytes clients sent since the last look. */
  taken(): Buffer
  /**
   * Asked about each chunk a client sends: 'pass' it on; 'cut' the client's connection after passing it on, before any
   * answer; 'drop' it and the connection; 'swallow' it and leave the connection open.
   */
  onClient: (chunk: Buffer) => 'pass' | 'cut' | 'drop' | 'swallow'
  /** Carries nothing more over the connections there are, and closes none: half-open. New ones work. */
  silence(): void
  stop(): void
}

export const startTcpProxy = async (to: number): Promise<TcpProxy> => {
  let heard: Buffer[] = []
  const sockets = new Set<Socket>()
  const silent = new WeakSet<Socket>()
  const server = createServer((client) => {
    const onward = connect(to, '127.0.0.1')
    let isCut = false
    for (const socket of [client, onward]) {
      sockets.add(socket)
      socket.setNoDelay(true).on('close', () => sockets.delete(socket))
    }
    client
      .on('error', () => onward.destroy())
      .on('close', () => (isCut || silent.has(client) ? undefined : onward.destroy()))
    onward.on('error', () => client.destroy()).on('close', () => client.destroy())
    onward.on('data', (chunk) => (isCut || silent.has(client) ? undefined : client.write(chunk)))
    client.on('data', (chunk) => {
      if (silent.has(client)) return
      heard.push(chunk)
      const verdict = proxy.onClient(chunk)
      if (verdict === 'pass' || verdict === 'cut') onward.write(chunk)
      if (verdict === 'pass' || verdict === 'swallow') return
      isCut = true
      client.destroy()
      // The server reads to the end of what was passed on, and then of the connection.
      if (verdict === 'cut') onward.end()
      else onward.destroy()
    })
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const proxy: TcpProxy = {
    port: (server.address() as { port: number }).port,
    taken() {
      const all = Buffer.concat(heard)
      heard = []
      return all
    },
    onClient: () => 'pass',
    silence() {
      for (const socket of sockets) silent.add(socket)
    },
    stop() {
      server.close()
      for (const socket of sockets) socket.destroy()
    },
  }
  return proxy
}

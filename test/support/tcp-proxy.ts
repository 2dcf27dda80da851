/** A TCP proxy on loopback that records what clients send, and can lose bytes and connections. */
import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'

export interface TcpProxy {
  readonly port: number
  /** Bytes that clients sent since the last call. */
  taken(): Buffer
  /**
   * Called with each chunk that a client sends. Returns 'pass' to pass it on; 'cut' to close the client's connection
   * after passing it on, before any answer; 'mute' to pass it on, and nothing more either way, without closing anything;
   * 'drop' to discard it and close the connection; 'swallow' to discard it and leave the connection open.
   */
  onClient: (chunk: Buffer) => 'pass' | 'cut' | 'mute' | 'drop' | 'swallow'
  /**
   * Stops passing bytes on over existing connections without closing them (half-open). New connections work. Returns a
   * function that closes the silent ones, as the system does after a while.
   */
  silence(): () => void
  /** Closes all connections. New ones work. */
  cut(): void
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
      if (verdict === 'pass' || verdict === 'cut' || verdict === 'mute') onward.write(chunk)
      if (verdict === 'mute') silent.add(client)
      if (verdict === 'pass' || verdict === 'mute' || verdict === 'swallow') return
      isCut = true
      client.destroy()
      // The server still reads what was passed on, and then the end of the connection.
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
      const now = [...sockets]
      for (const socket of now) silent.add(socket)
      return () => {
        for (const socket of now) socket.destroy()
      }
    },
    cut() {
      for (const socket of sockets) socket.destroy()
    },
    stop() {
      server.close()
      for (const socket of sockets) socket.destroy()
    },
  }
  return proxy
}

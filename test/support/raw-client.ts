/** A TCP connection to a server, used in plain text: for what an HTTP client would not send, or not show. */
import { connect } from 'node:net'

export interface RawClient {
  send(text: string): void
  /** Everything received, once it contains `text`. Rejects when the connection ends before. */
  until(text: string): Promise<string>
  /** Everything received, once the server closed the connection. */
  readonly closed: Promise<string>
  /** Closes this side of the connection. */
  end(): void
  destroy(): void
}

/** Connects to `http://host:port`. Rejects when the connection is refused. */
export const connectTo = (address: string): Promise<RawClient> => {
  const { hostname, port } = new URL(address)
  const socket = connect({ host: hostname.replace(/^\[|\]$/g, ''), port: Number(port) })
  let received = ''
  let over = false
  const waiting = new Set<() => void>()
  const wake = (): void => {
    for (const look of waiting) look()
  }
  socket.setEncoding('utf8')
  socket.on('data', (text) => {
    received += text
    wake()
  })
  const closed = new Promise<string>((resolve) =>
    socket.once('close', () => {
      over = true
      resolve(received)
      wake()
    }),
  )
  const until = (text: string): Promise<string> =>
    new Promise((resolve, reject) => {
      const look = (): void => {
        if (!received.includes(text) && !over) return
        waiting.delete(look)
        if (received.includes(text)) resolve(received)
        else reject(new Error(`the connection ended after ${JSON.stringify(received)}`))
      }
      waiting.add(look)
      look()
    })
  return new Promise((resolve, reject) => {
    socket.once('error', reject)
    socket.once('connect', () =>
      resolve({
        send: (text) => void socket.write(text),
        until,
        closed,
        end: () => void socket.end(),
        destroy: () => socket.destroy(),
      }),
    )
  })
}

/** The server's side of a WebSocket, written out: handshake, short text frames, close frame. RFC 6455. */
import { createHash } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import { definePlugin } from '../../kernel/index.ts'

const GUID = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11'
const GOODBYE = Buffer.from([0x88, 0x02, 0x03, 0xe9]) // close frame with code 1001, going away

export const acceptWebSocket = ({ headers }: IncomingMessage, socket: Duplex): void => {
  const accept = createHash('sha1')
    .update(headers['sec-websocket-key'] + GUID)
    .digest('base64')
  socket.write(
    `HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\nconnection: upgrade\r\nsec-websocket-accept: ${accept}\r\n\r\n`,
  )
}

/** Sends a text of up to 125 bytes. */
export const sendText = (socket: Duplex, text: string): void => {
  const bytes = Buffer.from(text)
  socket.write(Buffer.concat([Buffer.from([0x81, bytes.length]), bytes]))
}

export const sayGoodbye = (socket: Duplex): void => {
  socket.end(GOODBYE)
  socket.resume()
}

/** Decodes one short masked text frame. */
export const readText = (frame: Buffer): string => {
  const length = (frame[1] ?? 0) & 0x7f
  const mask = frame.subarray(2, 6)
  return Buffer.from(frame.subarray(6, 6 + length).map((byte, at) => byte ^ (mask[at % 4] ?? 0))).toString()
}

/** The handshake of a client, for tests that use a raw connection. */
export const askForWebSocket = (path: string, more: Readonly<Record<string, string>> = {}): string => {
  const headers = {
    host: 'a',
    connection: 'Upgrade',
    upgrade: 'websocket',
    'sec-websocket-version': '13',
    'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==',
    ...more,
  }
  const lines = Object.entries(headers).filter(([, value]) => value !== '')
  return `GET ${path} HTTP/1.1\r\n${lines.map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n`
}

/** A plugin with a WebSocket at /hello that sends one word. */
export const hello = definePlugin({
  name: 'hello',
  setup({ routes }) {
    routes((app, _options, done) => {
      app.get('/hello', { config: { upgrade: true } }, async ({ ctx, raw }) => {
        const upgrade = ctx.takeUpgrade()
        if (upgrade === undefined) return
        acceptWebSocket(raw, upgrade.socket)
        sendText(upgrade.socket, 'hello')
        sayGoodbye(upgrade.socket)
      })
      done()
    })
  },
})

/** The first message of a WebSocket. */
export const firstWord = async (url: string): Promise<unknown> => {
  const socket = new WebSocket(url.replace('http', 'ws'))
  const { promise, resolve, reject } = Promise.withResolvers<unknown>()
  socket.onmessage = ({ data }) => resolve(data)
  socket.onerror = () => reject(new Error('the handshake failed'))
  return promise
}

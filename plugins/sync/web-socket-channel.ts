/** Messages over a WebSocket. */
import type { Duplex } from 'node:stream'
import type { RawData, WebSocket } from 'ws'
import { type Channel, CLOSE } from './channel.ts'
import { TextFrames } from './text-frames.ts'

const PING_MS = 25_000 // proxies commonly end what is silent for a minute

export interface WebSocketChannel extends Channel {
  /** Once a second: asks a silent client whether it is there, and cuts the connection of one that has not answered. */
  tick(now: number): void
}

export interface ChannelEvents {
  message(text: string): void
  drained(): void
  closed(): void
}

const textOf = (data: RawData): string =>
  (Array.isArray(data) ? Buffer.concat(data) : Buffer.from(data as ArrayBuffer)).toString('utf8')

/** `stream`: what the WebSocket runs over. */
export const createWebSocketChannel = (socket: WebSocket, stream: Duplex, on: ChannelEvents): WebSocketChannel => {
  let isOpen = true
  let heardAt: number | undefined
  let pingedAt: number | undefined
  const frames = new TextFrames()
  /** Messages of one turn are written together: one call of the system for all of them. */
  const write = (): void => {
    if (frames.size === 0) return
    const bytes = frames.take()
    // Behind a close of the client nothing may be sent.
    if (socket.readyState === socket.OPEN) stream.write(bytes, on.drained)
  }
  const hear = (): void => {
    pingedAt = undefined
    heardAt = undefined
  }
  const channel: WebSocketChannel = {
    send(text, rest) {
      if (!isOpen) return
      if (frames.size === 0) process.nextTick(write)
      frames.add(text, rest)
    },
    get unsent() {
      return frames.size + socket.bufferedAmount
    },
    close(code, reason) {
      if (!isOpen) return
      write()
      isOpen = false
      // A client that reads nothing does not answer either: ws cuts the connection after 30 seconds.
      socket.close(code, reason)
    },
    tick(now) {
      heardAt ??= now
      if (now - heardAt < PING_MS) return
      if (pingedAt === undefined) {
        pingedAt = now
        if (isOpen) socket.ping()
      } else if (now - pingedAt >= PING_MS) socket.terminate()
    },
  }
  socket.on('message', (data, isBinary) => {
    hear()
    if (!isOpen) return
    if (isBinary) channel.close(CLOSE.malformed, 'messages are text')
    else on.message(textOf(data))
  })
  socket.on('pong', hear)
  // An error without a listener ends the process; what it leads to is the end of the connection.
  socket.on('error', () => undefined)
  socket.on('close', () => {
    isOpen = false
    on.closed()
  })
  return channel
}

/** One connection after the other to a server on this machine: bytes out, one answer in. */
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { gunzipSync } from 'node:zlib'

export interface LaneAnswer {
  readonly status: number
  readonly type: string
  readonly body: string
}

export interface Lane {
  /** The first answer, or why there was none. */
  ask(bytes: Buffer, method: string, framed: boolean): Promise<LaneAnswer | 'closed' | 'silent'>
  close(): void
}

/** The answer at the start of what came back. */
const readAnswer = (text: string, method: string, ended: boolean): LaneAnswer | undefined => {
  const head = text.indexOf('\r\n\r\n')
  if (head === -1) return undefined
  const status = Number(text.slice(9, 12))
  if (status < 200) return readAnswer(text.slice(head + 4), method, ended)
  const lines = text.slice(0, head)
  const type = /\r\ncontent-type: ([^\r]*)/i.exec(lines)?.[1] ?? ''
  const given = /\r\ncontent-length: (\d+)/i.exec(lines)?.[1]
  const packed = /\r\ncontent-encoding: gzip/i.test(lines)
  const none = method === 'HEAD' || status === 204 || status === 304
  const length = none
    ? 0
    : given === undefined
      ? ended
        ? text.length - head - 4
        : Number.POSITIVE_INFINITY
      : Number(given)
  if (text.length < head + 4 + length) return undefined
  const end = head + 4 + length
  const bytes = Buffer.from(text.slice(head + 4, end), 'latin1')
  return { status, type, body: (packed && length > 0 ? gunzipSync(bytes) : bytes).toString() }
}

export const createLane = (port: number, patienceMs: number): Lane => {
  let kept: Socket | undefined
  const open = async (): Promise<Socket> => {
    const socket = connect({ host: '127.0.0.1', port }).setEncoding('latin1')
    socket.on('error', () => undefined)
    await once(socket, 'connect')
    return socket
  }
  const talk = (
    socket: Socket,
    bytes: Buffer,
    method: string,
    framed: boolean,
  ): Promise<LaneAnswer | 'closed' | 'silent'> =>
    new Promise((resolve) => {
      let text = ''
      const late = setTimeout(() => finish('silent'), patienceMs)
      const finish = (result: LaneAnswer | 'closed' | 'silent'): void => {
        clearTimeout(late)
        socket.removeAllListeners('data').removeAllListeners('close')
        const reusable = framed && typeof result === 'object' && !/\r\nconnection: close/i.test(text)
        kept = reusable ? socket : undefined
        if (!reusable) socket.destroy()
        resolve(result)
      }
      const look = (ended: boolean): void => {
        const found = readAnswer(text, method, ended)
        if (found !== undefined) finish(found)
        else if (ended) finish('closed')
      }
      socket.on('data', (chunk) => {
        text += chunk
        look(false)
      })
      socket.on('close', () => look(true))
      if (framed) socket.write(bytes)
      else socket.end(bytes)
    })
  return {
    async ask(bytes, method, framed) {
      const reused = framed ? kept : undefined
      if (!framed) kept?.destroy()
      kept = undefined
      const socket = reused !== undefined && !reused.destroyed && reused.readyState === 'open' ? reused : await open()
      const result = await talk(socket, bytes, method, framed)
      // A kept connection may have been closed by the server just before it was used again.
      if (result === 'closed' && socket === reused) return talk(await open(), bytes, method, framed)
      return result
    },
    close: () => void kept?.destroy(),
  }
}

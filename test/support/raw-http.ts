/** Sends bytes over a TCP connection and reads the answers: for requests that no HTTP client would send. */
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import type { Answer } from './refused.ts'

const PATIENCE_MS = 15_000 // milliseconds to wait for a server that neither answers nor closes

export interface Exchange {
  readonly answers: readonly Answer[]
  /** True when the server closed the connection. */
  readonly closed: boolean
  /** All bytes received, as text. */
  readonly text: string
}

/** Opens a connection to `http://127.0.0.1:8080`. Errors are ignored: a refused body ends with one. */
export const openSocket = async (base: string): Promise<Socket> => {
  const { hostname, port } = new URL(base)
  const socket = connect({ host: hostname, port: Number(port) })
  await once(socket, 'connect')
  return socket.on('error', () => undefined)
}

/** All complete answers of a connection; `text` is latin1, so that lengths are bytes. An answer to HEAD has no body. */
export const readAnswers = (text: string, isHead = false): Answer[] => {
  const answers: Answer[] = []
  for (let at = 0; at < text.length; ) {
    const end = text.indexOf('\r\n\r\n', at)
    if (end === -1) break
    const [status = '', ...lines] = text.slice(at, end).split('\r\n')
    const headers = Object.fromEntries(
      lines.map((line) => [line.slice(0, line.indexOf(':')).toLowerCase(), line.slice(line.indexOf(':') + 1).trim()]),
    )
    const length = isHead ? 0 : Number(headers['content-length'] ?? 0)
    const statusCode = Number(status.split(' ')[1])
    if (text.length < end + 4 + length) break
    // Skips interim answers.
    if (statusCode >= 200)
      answers.push({
        statusCode,
        headers,
        body: Buffer.from(text.slice(end + 4, end + 4 + length), 'latin1').toString(),
      })
    at = end + 4 + length
  }
  return answers
}

/** Sends the bytes and returns what was received when the server closed, or when there were `answers` answers. */
export const exchange = async (
  base: string,
  bytes: string | Uint8Array,
  answers = Number.POSITIVE_INFINITY,
): Promise<Exchange> => {
  const socket = await openSocket(base)
  const isHead = typeof bytes === 'string' && bytes.startsWith('HEAD ')
  let text = ''
  const done = new Promise<boolean>((resolve) => {
    const late = setTimeout(() => resolve(false), PATIENCE_MS)
    socket.on('data', (chunk) => {
      text += chunk.toString('latin1')
      if (readAnswers(text, isHead).length >= answers) resolve(false)
    })
    socket.on('close', () => resolve(true)).on('end', () => resolve(true))
    void Promise.resolve().then(() => socket.write(typeof bytes === 'string' ? Buffer.from(bytes, 'latin1') : bytes))
    socket.on('close', () => clearTimeout(late))
  })
  const closed = await done
  socket.destroy()
  return { answers: readAnswers(text, isHead), closed, text }
}

/** Messages that prepare and run statements. https://www.postgresql.org/docs/17/protocol-message-formats.html */
import type { SqlParam } from '../contract.ts'

const PARSE = 0x50
const DESCRIBE = 0x44
const BIND = 0x42
const EXECUTE = 0x45
const CLOSE = 0x43
const STATEMENT = 0x53
/** A statement has at most this many parameters, because Bind sends their number in 16 bits. */
export const MAX_PARAMS = 65_535

/** Ends a group of messages: an error rolls back that group and does not affect later ones. */
export const SYNC = Buffer.from([0x53, 0, 0, 0, 4])
/** Runs the unnamed portal to its end. */
export const RUN_PORTAL = Buffer.from([EXECUTE, 0, 0, 0, 9, 0, 0, 0, 0, 0])

const frame = (type: number, ...parts: readonly Buffer[]): Buffer => {
  const body = Buffer.concat(parts)
  const head = Buffer.alloc(5, type)
  head.writeUInt32BE(body.length + 4, 1)
  return Buffer.concat([head, body])
}
const cstring = (text: string): Buffer => Buffer.from(`${text}\0`, 'utf8')

/** Parse and Describe: the server answers with the columns the statement will have. */
export const prepareMessages = (name: string, text: string): Buffer =>
  Buffer.concat([
    frame(PARSE, cstring(name), cstring(text), Buffer.alloc(2)),
    frame(DESCRIBE, Buffer.from([STATEMENT]), cstring(name)),
  ])

export const closeMessage = (name: string): Buffer => frame(CLOSE, Buffer.from([STATEMENT]), cstring(name))

/** Bind of a prepared statement to the unnamed portal: bytes as they are, everything else as text. */
export const bindMessage = (name: string, params: readonly SqlParam[], formats: readonly number[]): Buffer => {
  const values: (string | Uint8Array | null)[] = []
  const lengths: number[] = []
  let length =
    4 + 1 + Buffer.byteLength(name) + 1 + 2 + 2 * params.length + 2 + 4 * params.length + 2 + 2 * formats.length
  for (const param of params) {
    const value = typeof param === 'number' ? String(param) : param
    const bytes = value === null ? 0 : typeof value === 'string' ? Buffer.byteLength(value) : value.length
    values.push(value)
    lengths.push(bytes)
    length += bytes
  }
  const message = Buffer.allocUnsafe(length + 1)
  message[0] = BIND
  let at = message.writeUInt32BE(length, 1)
  message[at] = 0 // the unnamed portal
  at += 1 + message.write(name, at + 1)
  message[at] = 0
  at = message.writeUInt16BE(params.length, at + 1)
  for (const value of values) at = message.writeUInt16BE(value === null || typeof value === 'string' ? 0 : 1, at)
  at = message.writeUInt16BE(params.length, at)
  for (const [index, value] of values.entries()) {
    at = message.writeInt32BE(value === null ? -1 : lengths[index]!, at)
    if (typeof value === 'string') at += message.write(value, at)
    else if (value !== null) {
      message.set(value, at)
      at += value.length
    }
  }
  at = message.writeUInt16BE(formats.length, at)
  for (const format of formats) at = message.writeUInt16BE(format, at)
  return message
}

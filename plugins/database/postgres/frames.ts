/**
 * Splits the server's stream into messages. https://www.postgresql.org/docs/17/protocol-message-formats.html A listener
 * may take a message as raw bytes; other messages are passed whole to pg's own parser.
 */

const HEADER_BYTES = 5 // type, length

/**
 * Gets the bytes of one message, header included; they are valid only during the call. Returns true when it took the
 * message.
 */
export type TakeMessage = (type: number, bytes: Buffer, start: number, end: number) => boolean

export interface Frames {
  feed(chunk: Buffer): void
}

export const createFrames = (take: TakeMessage, pass: (bytes: Buffer) => void): Frames => {
  let parts: Buffer[] = []
  let held = 0
  let needed = 0 // bytes needed to complete the buffered message; 0 while its length is unknown

  const cut = (bytes: Buffer): number => {
    let at = 0
    let passFrom = 0
    while (bytes.length - at >= HEADER_BYTES) {
      const end = at + 1 + bytes.readUInt32BE(at + 1)
      if (end > bytes.length) {
        needed = end - at
        break
      }
      if (take(bytes[at]!, bytes, at, end)) {
        if (passFrom < at) pass(bytes.subarray(passFrom, at))
        passFrom = end
      }
      at = end
    }
    if (passFrom < at) pass(bytes.subarray(passFrom, at))
    return at
  }
  return {
    feed(chunk) {
      parts.push(chunk)
      held += chunk.length
      // A large body arrives in many chunks: they are joined once, not at each chunk.
      if (held < needed) return
      const bytes = parts.length === 1 ? chunk : Buffer.concat(parts, held)
      needed = 0
      const at = cut(bytes)
      parts = at === bytes.length ? [] : [bytes.subarray(at)]
      held = bytes.length - at
    },
  }
}

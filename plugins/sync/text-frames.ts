/**
 * Text messages in the frames of a WebSocket: whole, neither masked nor compressed, as a server sends them. Messages that are
 * sent together are one buffer, because `ws` writes two for each, and calls back for each. RFC 6455, section 5.2.
 */

const TEXT = 0x81 // the only frame of its message, and text
const SHORT = 125 // bytes; the length is in the second byte
const MIDDLE = 0xffff
const LENGTH_16 = 126
const LENGTH_64 = 127

interface Message {
  readonly text: string
  readonly rest: Buffer | undefined
  /** Bytes of both. */
  readonly length: number
}

const headSize = (length: number): number => (length <= SHORT ? 2 : length <= MIDDLE ? 4 : 10)

/** Returns the offset behind the head. */
const writeHead = (bytes: Buffer, at: number, length: number): number => {
  bytes[at] = TEXT
  if (length <= SHORT) {
    bytes[at + 1] = length
    return at + 2
  }
  if (length <= MIDDLE) {
    bytes[at + 1] = LENGTH_16
    return bytes.writeUInt16BE(length, at + 2)
  }
  bytes[at + 1] = LENGTH_64
  bytes.writeUInt32BE(0, at + 2)
  return bytes.writeUInt32BE(length, at + 6)
}

export class TextFrames {
  #messages: Message[] = []
  #size = 0

  /** Bytes of the frames of all messages that were added. */
  get size(): number {
    return this.#size
  }

  /** `rest`: the end of the text, in UTF-8. */
  add(text: string, rest: Buffer | undefined): void {
    const length = Buffer.byteLength(text) + (rest?.length ?? 0)
    this.#messages.push({ text, rest, length })
    this.#size += headSize(length) + length
  }

  /** The frames of all messages that were added, which are forgotten. */
  take(): Buffer {
    const bytes = Buffer.allocUnsafe(this.#size)
    let at = 0
    for (const { text, rest, length } of this.#messages) {
      at = writeHead(bytes, at, length)
      at += bytes.write(text, at)
      if (rest === undefined) continue
      bytes.set(rest, at)
      at += rest.length
    }
    this.#messages = []
    this.#size = 0
    return bytes
  }
}

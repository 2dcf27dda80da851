/**
 * A key of the hash chain, and the messages that it authenticates: each field is preceded by its length, so that no two
 * different lists of fields have the same bytes. HMAC-SHA-256, RFC 2104, over a reused buffer: a row costs two digests
 * and no stream.
 */
import { createHmac, hash } from 'node:crypto'

const BLOCK = 64 // bytes of SHA-256
const DIGEST = 32
const ID_BYTES = 8
const SHORT_TEXT = 48 // characters
const MAX_BY_HAND = 64 // bytes copied in a loop; for so few a native call takes longer

/** The key when none is configured: it is public, so the chain detects mistakes only, and no tampering. */
const NO_KEY = ''

export interface ChainKey {
  /** Identifies the key without revealing it. */
  readonly id: Buffer
  /** False for the chain without a key. */
  readonly isSecret: boolean
  /** Begins a message. `label` states its purpose. */
  begin(label: string): void
  number(value: number | null): void
  text(value: string | null): void
  bytes(value: Uint8Array | null): void
  /** The MAC of the message. */
  end(): Buffer
}

const pad = (key: Buffer, value: number): Buffer => {
  const block = Buffer.alloc(BLOCK, value)
  for (const [at, byte] of key.entries()) block[at] = byte ^ value
  return block
}

export const createKey = (secret: string = NO_KEY): ChainKey => {
  const given = Buffer.from(secret, 'utf8')
  const key = given.length > BLOCK ? hash('sha256', given, 'buffer') : given
  let inner = Buffer.alloc(BLOCK + 4096)
  inner.set(pad(key, 0x36))
  const outer = Buffer.alloc(BLOCK + DIGEST)
  outer.set(pad(key, 0x5c))
  let at = BLOCK

  const room = (bytes: number): void => {
    if (at + bytes <= inner.length) return
    const larger = Buffer.alloc(2 * (at + bytes))
    inner.copy(larger, 0, 0, at)
    inner = larger
  }
  const nothing = (): void => {
    room(1)
    inner[at] = 0
    at += 1
  }
  /**
   * Returns the number of bytes written. Most texts are short and ASCII, and a loop is faster than a native call for
   * these.
   */
  const writeText = (value: string, from: number): number => {
    if (value.length > SHORT_TEXT) return inner.write(value, from, 'utf8')
    for (let n = 0; n < value.length; n += 1) {
      const code = value.charCodeAt(n)
      if (code > 127) return inner.write(value, from, 'utf8')
      inner[from + n] = code
    }
    return value.length
  }
  return {
    id: createHmac('sha256', given).update('audit-key-id').digest().subarray(0, ID_BYTES),
    isSecret: secret !== NO_KEY,
    begin(label) {
      at = BLOCK + inner.write(label, BLOCK, 'latin1')
      inner[at] = 0
      at += 1
    },
    number(value) {
      if (value === null) return nothing()
      room(9)
      inner[at] = 1
      inner.writeDoubleBE(value, at + 1)
      at += 9
    },
    text(value) {
      if (value === null) return nothing()
      room(5 + 3 * value.length)
      inner[at] = 2
      const written = writeText(value, at + 5)
      inner.writeUInt32BE(written, at + 1)
      at += 5 + written
    },
    bytes(value) {
      if (value === null) return nothing()
      room(5 + value.length)
      inner[at] = 3
      inner.writeUInt32BE(value.length, at + 1)
      if (value.length > MAX_BY_HAND) inner.set(value, at + 5)
      else for (let n = 0; n < value.length; n += 1) inner[at + 5 + n] = value[n] as number
      at += 5 + value.length
    },
    end() {
      // A digest as a binary string takes half the time of one in a buffer of its own.
      outer.write(hash('sha256', inner.subarray(0, at), 'binary'), BLOCK, 'latin1')
      return Buffer.from(hash('sha256', outer, 'binary'), 'latin1')
    },
  }
}

/** The current key and the previous ones, by id. */
export interface KeyRing {
  readonly current: ChainKey
  find(id: Uint8Array): ChainKey | undefined
}

/** `current` undefined is the chain without a key. That one can always be found, so that a first key can follow it. */
export const createKeyRing = (current: string | undefined, previous: readonly string[]): KeyRing => {
  const first = createKey(current)
  const all = [first, ...previous.map(createKey), createKey()]
  return { current: first, find: (id) => all.find((key) => key.id.equals(id)) }
}

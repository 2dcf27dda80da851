/**
 * A key of the chain and what is authenticated with it: fields, each with its length, so that no two different lists
 * have the same bytes. HMAC-SHA-256, RFC 2104, over a buffer that is used again: a row costs two digests and no stream.
 */
import { createHmac, hash } from 'node:crypto'

const BLOCK = 64 // bytes of SHA-256
const DIGEST = 32
const ID_BYTES = 8
const SHORT_TEXT = 48 // characters
const MAX_BY_HAND = 64 // bytes; a call out of JavaScript takes longer

/** Stands where there is no key: anybody can compute it, so the chain shows mistakes only. */
const NO_KEY = ''

export interface ChainKey {
  /** Tells keys apart without telling them. */
  readonly id: Buffer
  /** False for the chain without a key. */
  readonly isSecret: boolean
  /** Begins a message. `label` says what it is for. */
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
  /** Bytes written. Most texts here are short and ASCII, which needs no call out of JavaScript. */
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
      // A digest as a string of bytes takes half as long as one in a buffer of its own.
      outer.write(hash('sha256', inner.subarray(0, at), 'binary'), BLOCK, 'latin1')
      return Buffer.from(hash('sha256', outer, 'binary'), 'latin1')
    },
  }
}

/** The key in force and those that were, by id. */
export interface KeyRing {
  readonly current: ChainKey
  find(id: Uint8Array): ChainKey | undefined
}

/** `current` undefined is the chain without a key; it is always known, so that a first key can follow it. */
export const createKeyRing = (current: string | undefined, previous: readonly string[]): KeyRing => {
  const first = createKey(current)
  const all = [first, ...previous.map(createKey), createKey()]
  return { current: first, find: (id) => all.find((key) => key.id.equals(id)) }
}

/**
 * The `at` of messages: a position among the changes, bound to the query, the ruling and the caller. It is encrypted
 * because a position shows how much is written that the caller may not see.
 */
import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto'
import type { Place } from './place.ts'

const CIPHER = 'aes-256-gcm' // NIST SP 800-38D
const NONCE_BYTES = 12
const TAG_BYTES = 16
// Epoch and number of the commit as doubles, the place within it as an integer, eight bytes of the term, a flag.
const PLAIN_BYTES = 8 + 8 + 4 + 8 + 1
const ALL_BYTES = NONCE_BYTES + TAG_BYTES + PLAIN_BYTES

export interface Position {
  readonly place: Place
  /** True where the client may have some of the changes behind the place, too. */
  readonly isLoose: boolean
}

export interface PositionSeal {
  /** `scope`: the query, the ruling and the caller. */
  seal(scope: Buffer, position: Position): string
  /** Undefined for what was not sealed with this scope. */
  open(scope: Buffer, at: string): Position | undefined
}

const encode = ({ place: { epoch, seq, within, term }, isLoose }: Position): Buffer => {
  const plain = Buffer.alloc(PLAIN_BYTES)
  plain.writeDoubleBE(epoch, 0)
  plain.writeDoubleBE(seq, 8)
  plain.writeUInt32BE(within, 16)
  plain.write(term, 20, 'hex')
  plain.writeUInt8(isLoose ? 1 : 0, 28)
  return plain
}
const decode = (plain: Buffer): Position => ({
  place: {
    epoch: plain.readDoubleBE(0),
    seq: plain.readDoubleBE(8),
    within: plain.readUInt32BE(16),
    term: plain.toString('hex', 20, 28),
  },
  isLoose: plain.readUInt8(28) === 1,
})

/** `key`: 32 bytes, known once the database is open. */
export const createPositionSeal = (key: () => Buffer): PositionSeal => ({
  seal(scope, position) {
    const nonce = randomBytes(NONCE_BYTES)
    const cipher = createCipheriv(CIPHER, key(), nonce, { authTagLength: TAG_BYTES })
    cipher.setAAD(scope)
    const sealed = cipher.update(encode(position))
    cipher.final()
    return Buffer.concat([nonce, cipher.getAuthTag(), sealed]).toString('base64url')
  },
  open(scope, at) {
    const bytes = Buffer.from(at, 'base64url')
    if (bytes.length !== ALL_BYTES || bytes.toString('base64url') !== at) return undefined
    const decipher = createDecipheriv(CIPHER, key(), bytes.subarray(0, NONCE_BYTES), { authTagLength: TAG_BYTES })
    decipher.setAAD(scope)
    decipher.setAuthTag(bytes.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES))
    const plain = decipher.update(bytes.subarray(NONCE_BYTES + TAG_BYTES))
    try {
      decipher.final()
    } catch {
      return undefined
    }
    return decode(plain)
  },
})

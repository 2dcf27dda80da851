/**
 * The `at` of messages: a position among the changes, bound to what was asked and by whom. It is encrypted because a
 * position shows how much is written that the caller may not see.
 */
import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto'

const CIPHER = 'aes-256-gcm' // NIST SP 800-38D
const NONCE_BYTES = 12
const TAG_BYTES = 16
const SEQ_BYTES = 8
const ALL_BYTES = NONCE_BYTES + TAG_BYTES + SEQ_BYTES

export interface PositionSeal {
  /** `scope`: the epoch, the query, the ruling and the caller. */
  seal(scope: Buffer, seq: number): string
  /** Undefined for what was not sealed with this scope. */
  open(scope: Buffer, at: string): number | undefined
}

/** `key`: 32 bytes, known once the database is open. */
export const createPositionSeal = (key: () => Buffer): PositionSeal => ({
  seal(scope, seq) {
    const nonce = randomBytes(NONCE_BYTES)
    const plain = Buffer.alloc(SEQ_BYTES)
    plain.writeDoubleBE(seq)
    const cipher = createCipheriv(CIPHER, key(), nonce, { authTagLength: TAG_BYTES })
    cipher.setAAD(scope)
    const sealed = cipher.update(plain)
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
    return plain.readDoubleBE(0)
  },
})

/**
 * What a secret in a cookie is used for beside proving itself: the CSRF tokens of the forms, and the encryption of what
 * is stored for this browser, which a copy of the tables does not reveal then.
 */
import { createCipheriv, createDecipheriv, createHmac, randomBytes } from 'node:crypto'
import { isSameHash } from '../secret.ts'

const ALGORITHM = 'aes-256-gcm'
const NONCE_BYTES = 12
const TAG_BYTES = 16

const derived = (secret: string, purpose: string): Buffer => createHmac('sha256', secret).update(purpose).digest()

/** The token for the hidden field `csrf` of a form. */
export const csrfOf = (secret: string): string => derived(secret, 'csrf').toString('base64url')

export const isCsrf = (secret: string, given: string | undefined): boolean =>
  given !== undefined && isSameHash(Buffer.from(csrfOf(secret)), Buffer.from(given))

export const sealText = (secret: string, text: string): Buffer => {
  const nonce = randomBytes(NONCE_BYTES)
  const cipher = createCipheriv(ALGORITHM, derived(secret, 'seal'), nonce)
  return Buffer.concat([nonce, cipher.update(text, 'utf8'), cipher.final(), cipher.getAuthTag()])
}

/** Throws when the bytes were sealed with another secret, or changed. */
export const openText = (secret: string, sealed: Uint8Array): string => {
  const bytes = Buffer.from(sealed)
  const decipher = createDecipheriv(ALGORITHM, derived(secret, 'seal'), bytes.subarray(0, NONCE_BYTES))
  decipher.setAuthTag(bytes.subarray(-TAG_BYTES))
  return Buffer.concat([decipher.update(bytes.subarray(NONCE_BYTES, -TAG_BYTES)), decipher.final()]).toString('utf8')
}

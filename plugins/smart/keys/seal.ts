/**
 * How a private key is stored: encrypted with AES-256-GCM under a key that scrypt derives from the passphrase, or
 * unencrypted when there is no passphrase. The id of the key is authenticated with it, so that nobody can swap two
 * stored keys.
 */
import { createCipheriv, createDecipheriv, randomBytes, scrypt } from 'node:crypto'
import { promisify } from 'node:util'
import { KeyNeedsPassphrase, KeyUnreadable } from '../errors.ts'

const PLAIN = 0
const SEALED = 1
const SALT = 16 // bytes
const IV = 12
const TAG = 16
const HEAD = 1 + SALT + IV + TAG
// RFC 7914, section 2: about 32 MB and a tenth of a second for each guess.
const COST = { N: 2 ** 15, r: 8, p: 1, maxmem: 64 * 1024 * 1024 }

const derive = promisify<string, Uint8Array, number, typeof COST, Buffer>(scrypt)

/** True when the stored key is encrypted. */
export const isSealed = (stored: Uint8Array): boolean => stored[0] !== PLAIN

/** `pkcs8` is the key in DER. */
export const seal = async (pkcs8: Uint8Array, kid: string, passphrase: string | undefined): Promise<Buffer> => {
  if (passphrase === undefined) return Buffer.concat([Buffer.of(PLAIN), pkcs8])
  const salt = randomBytes(SALT)
  const iv = randomBytes(IV)
  const cipher = createCipheriv('aes-256-gcm', await derive(passphrase, salt, 32, COST), iv)
  cipher.setAAD(Buffer.from(kid))
  const text = Buffer.concat([cipher.update(pkcs8), cipher.final()])
  return Buffer.concat([Buffer.of(SEALED), salt, iv, cipher.getAuthTag(), text])
}

/**
 * The key in DER. Throws `KeyNeedsPassphrase`, and `KeyUnreadable` when the passphrase is wrong or the bytes were
 * changed.
 */
export const unseal = async (stored: Uint8Array, kid: string, passphrase: string | undefined): Promise<Buffer> => {
  const bytes = Buffer.from(stored.buffer, stored.byteOffset, stored.byteLength)
  if (bytes[0] === PLAIN) return bytes.subarray(1)
  if (passphrase === undefined) throw KeyNeedsPassphrase(kid)
  if (bytes[0] !== SEALED || bytes.length <= HEAD) throw KeyUnreadable(kid)
  const salt = bytes.subarray(1, 1 + SALT)
  const iv = bytes.subarray(1 + SALT, 1 + SALT + IV)
  const key = await derive(passphrase, salt, 32, COST)
  const decipher = createDecipheriv('aes-256-gcm', key, iv, { authTagLength: TAG })
  decipher.setAAD(Buffer.from(kid))
  decipher.setAuthTag(bytes.subarray(HEAD - TAG, HEAD))
  try {
    return Buffer.concat([decipher.update(bytes.subarray(HEAD)), decipher.final()])
  } catch (cause) {
    throw KeyUnreadable(kid).with({ cause })
  }
}

/** A key pair that signs ID tokens with RS256, which every client must support. OpenID Connect Core, section 15.1 */
import { createPrivateKey, createPublicKey, generateKeyPair } from 'node:crypto'
import { promisify } from 'node:util'
import { KeyUnreadable } from '../errors.ts'

export const ALG = 'RS256'
const BITS = 2048

/** RFC 7517: only the public members of a key. */
export interface PublicJwk {
  readonly kty: 'RSA'
  readonly n: string
  readonly e: string
  readonly kid: string
  readonly use: 'sig'
  readonly alg: typeof ALG
}

export interface NewKey {
  /** Thumbprint of the public key, RFC 7638. */
  readonly kid: string
  /** DER. */
  readonly pkcs8: Buffer
}

/** Takes some tenths of a second, off the main thread. */
export const generateSigningKey = async (): Promise<NewKey> => {
  const { calculateJwkThumbprint } = await import('jose')
  const { publicKey, privateKey } = await promisify(generateKeyPair)('rsa', { modulusLength: BITS })
  const kid = await calculateJwkThumbprint(publicKey.export({ format: 'jwk' }) as { kty: string })
  return { kid, pkcs8: privateKey.export({ format: 'der', type: 'pkcs8' }) }
}

/** The public part of a key. Throws `KeyUnreadable` when it is not an RSA key. */
export const publicJwkOf = (pkcs8: Buffer, kid: string): PublicJwk => {
  const key = createPrivateKey({ key: pkcs8, format: 'der', type: 'pkcs8' })
  if (key.asymmetricKeyType !== 'rsa') throw KeyUnreadable(kid)
  const { n, e } = createPublicKey(key).export({ format: 'jwk' })
  if (typeof n !== 'string' || typeof e !== 'string') throw KeyUnreadable(kid)
  return { kty: 'RSA', n, e, kid, use: 'sig', alg: ALG }
}

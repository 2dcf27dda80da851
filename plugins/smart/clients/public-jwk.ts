/** Which public keys a client may register: SMART App Launch, "Asymmetric authentication"; RFC 7517, section 4. */
import { createPublicKey } from 'node:crypto'
import type { AssertionAlg, ClientJwk } from './client.ts'

export const ASSERTION_ALGS: readonly AssertionAlg[] = ['RS384', 'ES384']

/** Members of private and symmetric keys. */
const PRIVATE = ['d', 'p', 'q', 'dp', 'dq', 'qi', 'oth', 'k']
const MAX_KEYS = 50
const CURVES = ['P-256', 'P-384', 'P-521']
const RSA_BITS = 2048 // RFC 7518, section 3.3: the least

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** True for an RSA key that is long enough, for a point of its curve, and for keys of a kind that this server ignores. */
const isKey = (key: ClientJwk): boolean => {
  if (key.kty !== 'RSA' && !(key.kty === 'EC' && CURVES.includes(key.crv as string))) return true
  try {
    const { modulusLength = RSA_BITS } = createPublicKey({ key, format: 'jwk' }).asymmetricKeyDetails ?? {}
    return modulusLength >= RSA_BITS
  } catch {
    return false
  }
}

/** The reason why the value is not a set of public keys; undefined when it is one. */
export const jwksFault = (value: unknown): string | undefined => {
  const keys = isObject(value) ? value.keys : undefined
  if (!Array.isArray(keys) || keys.length === 0 || keys.length > MAX_KEYS) return 'jwks is not a set of 1 to 50 keys'
  if (!keys.every(isObject)) return 'jwks holds what is no key'
  if (keys.some((key) => PRIVATE.some((name) => Object.hasOwn(key, name)))) return 'jwks holds a private key'
  if (keys.some(({ kty }) => kty === 'oct')) return 'jwks holds a symmetric key'
  if (keys.some(({ kid }) => typeof kid !== 'string' || kid === '')) return 'a key of jwks has no kid'
  if (!keys.every(isKey)) return 'jwks holds a key that is not valid, or shorter than 2048 bits'
  return undefined
}

/** True when the key may verify signatures of this algorithm. */
export const fitsAlg = ({ kty, crv, use, key_ops: operations, alg }: ClientJwk, wanted: AssertionAlg): boolean =>
  (wanted === 'RS384' ? kty === 'RSA' : kty === 'EC' && crv === 'P-384') &&
  (use === undefined || use === 'sig') &&
  (operations === undefined || (Array.isArray(operations) && operations.includes('verify'))) &&
  (alg === undefined || alg === wanted)

/**
 * The position where a search, a history or $everything continues. It is encrypted and authenticated with a key of
 * the database and bound to the search and the caller, so a page link gives nobody access to more than the search
 * itself. It is encrypted because a position contains resource keys and version times of resources that the caller
 * may not see.
 */

import { createCipheriv, createDecipheriv, createHmac } from 'node:crypto'
import type { Caller, Clock } from '../../../kernel/index.ts'
import { SearchPageExpired, SearchPageForeign, SearchPageInvalid } from '../errors.ts'
import type { PageKey } from '../index/page-key.ts'
import type { PageValue } from './page-keys.ts'

const LIFE_MS = 24 * 3_600_000 // a page link is valid for a day
const CIPHER = 'aes-256-gcm' // NIST SP 800-38D
const NONCE_BYTES = 12
const TAG_BYTES = 16
const OWNER_BYTES = 8
/**
 * Snapshot key, resource key and time of issue (seconds) as doubles, then a MAC of the caller. Doubles have one length, so the length of a
 * token reveals no key.
 */
const FIXED_BYTES = 3 * 8 + OWNER_BYTES

/** The match after which a page begins, and the resources that existed at the first page. */
export interface PagePosition {
  /** Largest resource key that the search sees. */
  readonly snapshotKey: number
  /** Resource key of the last match on the page before; for a history, the time of its last version. */
  readonly rid: number
  /** Sort values of that match. */
  readonly keys: readonly PageValue[]
}

/** JSON has no infinity, which stands for a missing number: it is written as a list with its sign. */
const writeKeys = (keys: readonly PageValue[]): string =>
  JSON.stringify(keys.map((one) => (typeof one === 'number' && !Number.isFinite(one) ? [Math.sign(one)] : one)))
const readKeys = (text: string): PageValue[] =>
  (JSON.parse(text) as (PageValue | [sign: number])[]).map((one) =>
    Array.isArray(one) && one.length === 1 ? one[0] * Number.POSITIVE_INFINITY : (one as PageValue),
  )

export const identify = ({ kind, client = '', user = '' }: Caller): string => `${kind}\n${client}\n${user}`

const macOf = ({ mac }: PageKey, bytes: number, ...parts: readonly (string | Buffer)[]): Buffer => {
  const hmac = createHmac('sha256', mac)
  for (const part of parts) hmac.update(part)
  return hmac.digest().subarray(0, bytes)
}

/** `search` is the path and parameters the token belongs to. */
export const signPageToken = (
  key: PageKey,
  clock: Clock,
  caller: Caller,
  search: string,
  { snapshotKey, rid, keys }: PagePosition,
): string => {
  const values = keys.length === 0 ? '' : writeKeys(keys)
  const payload = Buffer.alloc(FIXED_BYTES + Buffer.byteLength(values))
  payload.writeDoubleBE(snapshotKey, 0)
  payload.writeDoubleBE(rid, 8)
  payload.writeDoubleBE(Math.floor(clock.now() / 1000), 16)
  macOf(key, OWNER_BYTES, 'owner\n', identify(caller)).copy(payload, 24)
  payload.write(values, FIXED_BYTES)
  // The nonce is derived from the content, so different contents have different nonces.
  const nonce = macOf(key, NONCE_BYTES, 'nonce\n', search, '\n', payload)
  const cipher = createCipheriv(CIPHER, key.cipher, nonce)
  cipher.setAAD(Buffer.from(search))
  const sealed = cipher.update(payload)
  cipher.final()
  return Buffer.concat([nonce, cipher.getAuthTag(), sealed]).toString('base64url')
}

const decrypt = (key: PageKey, search: string, token: string): Buffer => {
  const bytes = Buffer.from(token, 'base64url')
  // Base64 that decodes to the same bytes but is written differently is refused.
  if (bytes.length < NONCE_BYTES + TAG_BYTES + FIXED_BYTES || bytes.toString('base64url') !== token)
    throw SearchPageInvalid()
  const decipher = createDecipheriv(CIPHER, key.cipher, bytes.subarray(0, NONCE_BYTES), { authTagLength: TAG_BYTES })
  decipher.setAAD(Buffer.from(search))
  decipher.setAuthTag(bytes.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES))
  const payload = decipher.update(bytes.subarray(NONCE_BYTES + TAG_BYTES))
  try {
    decipher.final()
  } catch {
    throw SearchPageInvalid()
  }
  return payload
}

/** Throws 400 for a token that was changed, 404 for one of another caller, 410 for one that has expired. */
export const verifyPageToken = (
  key: PageKey,
  clock: Clock,
  caller: Caller,
  search: string,
  token: string,
): PagePosition => {
  const payload = decrypt(key, search, token)
  const owner = payload.subarray(24, FIXED_BYTES)
  if (!owner.equals(macOf(key, OWNER_BYTES, 'owner\n', identify(caller)))) throw SearchPageForeign()
  if (clock.now() - payload.readDoubleBE(16) * 1000 > LIFE_MS) throw SearchPageExpired()
  const values = payload.subarray(FIXED_BYTES).toString('utf8')
  const keys = values === '' ? [] : readKeys(values)
  return { snapshotKey: payload.readDoubleBE(0), rid: payload.readDoubleBE(8), keys }
}

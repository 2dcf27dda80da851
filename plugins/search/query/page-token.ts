/**
 * Where a search, a history or $everything goes on: encrypted and authenticated with the database's key, bound to what is
 * asked and to who asks. A page link is neither a way to skip a check nor of use to anybody else, and tells nothing: a
 * position names numbers of resources and stamps of versions that the caller may not see.
 */

import { createCipheriv, createDecipheriv, createHmac } from 'node:crypto'
import type { Caller, Clock } from '../../../kernel/index.ts'
import { SearchPageExpired, SearchPageForeign, SearchPageInvalid } from '../errors.ts'
import type { PageKey } from '../index/page-key.ts'
import type { PageValue } from './page-keys.ts'

const LIFE_MS = 24 * 3_600_000 // a page link is good for a day
const CIPHER = 'aes-256-gcm' // NIST SP 800-38D
const NONCE_BYTES = 12
const TAG_BYTES = 16
const OWNER_BYTES = 8
/** pin, rid and the second of issue as doubles, then the owner: of one length, whatever the numbers are. */
const FIXED_BYTES = 3 * 8 + OWNER_BYTES

/** After which match a page begins, among the resources that were there at the first page. */
export interface PagePosition {
  /** Largest rid the search sees. */
  readonly snapshotKey: number
  /** Rid of the last match shown; of a history the stamp of the last version. */
  readonly rid: number
  /** Its values in the order asked for. */
  readonly keys: readonly PageValue[]
}

/** JSON has no infinity, the place of what has no number: the list of its sign stands for it. */
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
  // Made from what is sealed, so no nonce is used for two texts.
  const nonce = macOf(key, NONCE_BYTES, 'nonce\n', search, '\n', payload)
  const cipher = createCipheriv(CIPHER, key.cipher, nonce)
  cipher.setAAD(Buffer.from(search))
  const sealed = cipher.update(payload)
  cipher.final()
  return Buffer.concat([nonce, cipher.getAuthTag(), sealed]).toString('base64url')
}

const decrypt = (key: PageKey, search: string, token: string): Buffer => {
  const bytes = Buffer.from(token, 'base64url')
  // Another spelling of the same bytes is no token of ours.
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

/** Throws 400 for what was changed, 404 for another caller's, 410 for what is too old. */
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

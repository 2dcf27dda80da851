/**
 * Where a search goes on: signed with the database's key, bound to the search and to who asked. A page link is neither
 * a way to skip a check nor of use to anybody else.
 */
import { createHmac, timingSafeEqual } from 'node:crypto'
import type { Caller, Clock } from '../../../kernel/index.ts'
import { SearchPageExpired, SearchPageForeign, SearchPageInvalid } from './errors.ts'

const LIFE_MS = 24 * 3_600_000 // a page link is good for a day
const SIGNATURE_BYTES = 16

/** After which match a page begins, among the resources that were there at the first page. */
export interface PagePosition {
  /** Largest rid the search sees. */
  readonly pin: number
  /** Rid of the last match shown. */
  readonly rid: number
  /** Its values in the order asked for. */
  readonly keys: readonly (string | number)[]
}

export const identify = ({ kind, client = '', user = '' }: Caller): string => `${kind}\n${client}\n${user}`

const sign = (key: string, text: string): Buffer =>
  createHmac('sha256', key).update(text).digest().subarray(0, SIGNATURE_BYTES)

/** `search` is the path and parameters the token belongs to. */
export const sealPage = (
  key: string,
  clock: Clock,
  caller: Caller,
  search: string,
  { pin, rid, keys }: PagePosition,
): string => {
  const owner = sign(key, identify(caller)).toString('base64url').slice(0, 10)
  const payload = JSON.stringify([pin, rid, Math.floor(clock.now() / 1000), owner, ...keys])
  return Buffer.concat([sign(key, `${search}\n${payload}`), Buffer.from(payload)]).toString('base64url')
}

/** Throws 400 for what was changed, 404 for another caller's, 410 for what is too old. */
export const openPage = (key: string, clock: Clock, caller: Caller, search: string, token: string): PagePosition => {
  const bytes = Buffer.from(token, 'base64url')
  const payload = bytes.subarray(SIGNATURE_BYTES).toString('utf8')
  const signature = bytes.subarray(0, SIGNATURE_BYTES)
  if (
    signature.length < SIGNATURE_BYTES ||
    !timingSafeEqual(signature, sign(key, `${search}\n${payload}`)) ||
    bytes.toString('base64url') !== token
  )
    throw SearchPageInvalid()
  const [pin, rid, issued, owner, ...keys] = JSON.parse(payload) as [
    number,
    number,
    number,
    string,
    ...(string | number)[],
  ]
  if (owner !== sign(key, identify(caller)).toString('base64url').slice(0, 10)) throw SearchPageForeign()
  if (clock.now() - issued * 1000 > LIFE_MS) throw SearchPageExpired()
  return { pin, rid, keys }
}

/** The header X-Snapshot: `1-<epoch>-<seq>-<MAC>`. The MAC covers the term of the epoch too. */
import { createHmac, type KeyObject, timingSafeEqual } from 'node:crypto'
import type { Snapshot } from './snapshot-source.ts'

const FORMAT = '1'
const MAC_BYTES = 16
// 15 digits are exact as a double.
const TOKEN = /^1-([1-9]\d{0,14})-(0|[1-9]\d{0,14})-([A-Za-z0-9_-]{22})$/

const macOf = (key: KeyObject, { epoch, seq }: Snapshot, term: string): string =>
  createHmac('sha256', key)
    .update(`${FORMAT}\n${epoch}\n${seq}\n${term}`)
    .digest()
    .subarray(0, MAC_BYTES)
    .toString('base64url')

export const makeToken = (key: KeyObject, snapshot: Snapshot, term: string): string =>
  `${FORMAT}-${snapshot.epoch}-${snapshot.seq}-${macOf(key, snapshot, term)}`

export interface ReadToken {
  readonly snapshot: Snapshot
  /** Whether the token was made with this key for this term. */
  isOf(key: KeyObject, term: string): boolean
}

/** Undefined for what is no token. */
export const readToken = (text: string): ReadToken | undefined => {
  const [, epoch, seq, mac] = TOKEN.exec(text) ?? []
  if (epoch === undefined || seq === undefined || mac === undefined) return undefined
  const snapshot = { epoch: Number(epoch), seq: Number(seq) }
  return {
    snapshot,
    isOf: (key, term) => timingSafeEqual(Buffer.from(mac), Buffer.from(macOf(key, snapshot, term))),
  }
}

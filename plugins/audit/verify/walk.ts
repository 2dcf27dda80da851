/**
 * Walks the chain from the last pruned row to its head and reports the first break. It runs on any thread, and reads
 * rows in pages of which it holds one. It cannot detect by itself that the end was cut off and an old head put back, or
 * that an old backup was restored: a checkpoint that is kept elsewhere shows those.
 */
import type { ThreadReader } from '../../database/service.ts'
import { lastSeqOf, spanOf } from '../batch.ts'
import { type ChainKey, createKeyRing, type KeyRing } from '../chain/key.ts'
import { GENESIS, proveKey, sealHead, sealPruned, sealRow } from '../chain/seals.ts'
import { eventCode } from '../event.ts'
import { type HeadRow, type Row, readFirst, readHeadAndLast, readRows } from '../tables.ts'

const PAGE_ROWS = 100 // some milliseconds of work, and with batches a few megabytes
const REKEY = eventCode('rekey')
const MAX_ATTEMPTS = 3

export type Damage =
  /** The trail was sealed with another key than SERVER_AUDIT_KEY. */
  | 'key'
  /** The row is not what was written. */
  | 'altered'
  /** Rows are gone from the middle. */
  | 'missing'
  /** A row that this server did not write, or that was pruned before and put back. */
  | 'inserted'
  /** Rows are gone from the end. */
  | 'truncated'
  /** The head does not match the rows. */
  | 'head'
  /** The record of pruning was altered. */
  | 'pruned'
  /** The checkpoint does not match the row of its number. */
  | 'checkpoint'

export interface Checkpoint {
  readonly seq: number
  /** Hexadecimal. */
  readonly mac: string
}

export interface VerifyInput {
  readonly key: string | undefined
  readonly previousKeys: readonly string[]
  readonly checkpoint?: Checkpoint | undefined
}

export interface Verdict {
  readonly ok: boolean
  /** False when the chain has no key: then it detects mistakes only. */
  readonly keyed: boolean
  /** Number of events whose seal was recomputed. */
  readonly checked: number
  readonly head: Checkpoint
  /** What retention_days has pruned: the last row, and the number of rows. */
  readonly pruned?: { readonly seq: number; readonly count: number }
  /** The first broken link. */
  readonly broken?: { readonly seq: number; readonly kind: Damage }
  /** `pruned`: the row of the checkpoint has been pruned, so it could not be compared. */
  readonly checkpoint?: 'matches' | 'pruned'
  readonly message?: string
}

const MESSAGES: Readonly<Record<Damage, string>> = {
  key: 'The key does not match: the trail is chained with another one than SERVER_AUDIT_KEY.',
  altered: 'This event is not what was written.',
  missing: 'Events are missing from here on.',
  inserted: 'This event was not written by this server.',
  truncated: 'The trail ends before its head: events are missing from here on.',
  head: 'The head of the trail does not fit its events.',
  pruned: 'The record of what was pruned is not what was written.',
  checkpoint: 'The checkpoint was made of other events.',
}

type HeadAndLast = HeadRow & { readonly last: number | null }
const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex')
const same = (one: Uint8Array, other: Uint8Array): boolean => Buffer.compare(one, other) === 0

interface Walk {
  readonly checked: number
  /** Seal of the last row. */
  readonly mac: Uint8Array
  /** The key in force after the last row. */
  readonly key: ChainKey
  /** Number the next row should have. */
  readonly next: number
  readonly broken?: { readonly seq: number; readonly kind: Damage }
  readonly isMatched: boolean
}

/** Verifies all rows up to the head. */
const walk = async (
  reader: ThreadReader,
  keys: KeyRing,
  head: HeadRow,
  start: ChainKey,
  checkpoint: Checkpoint | undefined,
): Promise<Walk> => {
  let key = start
  let mac: Uint8Array = head.pruned_mac
  let next = head.pruned_seq + 1
  let checked = 0
  let isMatched = checkpoint?.seq === head.pruned_seq && checkpoint.mac === hex(mac)
  const end = (seq: number, kind: Damage): Walk => ({ checked, mac, key, next, broken: { seq, kind }, isMatched })
  if (checkpoint?.seq === head.pruned_seq && !isMatched) return end(head.pruned_seq, 'checkpoint')

  let from = Number.MIN_SAFE_INTEGER
  for (;;) {
    const rows = await reader.all<Row>(readRows, [from, head.seq, PAGE_ROWS])
    for (const row of rows) {
      if (row.seq < next) return end(row.seq, 'inserted')
      if (row.seq > next) return end(next, 'missing')
      const seal = sealRow(key, head.chain, mac, row)
      if (!same(seal, row.mac)) return end(row.seq, 'altered')
      if (row.kind === REKEY && row.proof !== null) {
        const changed = keys.find(row.proof.subarray(0, key.id.length))
        if (changed === undefined) return end(row.seq + 1, 'key')
        if (!same(proveKey(changed, head.chain, row.seq, mac), row.proof)) return end(row.seq, 'altered')
        key = changed
      }
      mac = seal
      checked += spanOf(row)
      const isOfCheckpoint = checkpoint !== undefined && checkpoint.seq >= next && checkpoint.seq <= lastSeqOf(row)
      next = lastSeqOf(row) + 1
      if (isOfCheckpoint) {
        isMatched = checkpoint.seq === next - 1 && checkpoint.mac === hex(mac)
        if (!isMatched) return end(checkpoint.seq, 'checkpoint')
      }
    }
    const last = rows.at(-1)
    if (last === undefined || rows.length < PAGE_ROWS) return { checked, mac, key, next, isMatched }
    from = last.seq
  }
}

/** What is wrong with the head, given the rows. */
const faultOfHead = (
  keys: KeyRing,
  head: HeadAndLast,
  { checked, mac, next }: Walk,
): { readonly seq: number; readonly kind: Damage } | undefined => {
  const key = keys.find(head.key)
  if (key === undefined) return { seq: head.seq, kind: 'key' }
  if (next <= head.seq) return { seq: next, kind: 'truncated' }
  if (head.last !== null && head.last > head.seq) return { seq: head.seq + 1, kind: 'inserted' }
  if (!same(head.mac, mac) || head.count !== head.pruned_count + checked || !sealHead(key, head).equals(head.seal))
    return { seq: head.seq, kind: 'head' }
  if (!sealPruned(key, head).equals(head.pruned_seal)) return { seq: head.pruned_seq, kind: 'pruned' }
  return undefined
}

const toVerdict = (
  keyed: boolean,
  head: HeadRow | undefined,
  checked: number,
  broken: Verdict['broken'],
  checkpoint: Verdict['checkpoint'],
): Verdict => ({
  ok: broken === undefined,
  keyed,
  checked,
  head: { seq: head?.seq ?? 0, mac: hex(head?.mac ?? GENESIS) },
  ...(head !== undefined && head.pruned_seq > 0 && { pruned: { seq: head.pruned_seq, count: head.pruned_count } }),
  ...(broken !== undefined && { broken, message: MESSAGES[broken.kind] }),
  ...(checkpoint !== undefined && { checkpoint }),
})

const attempt = async (
  reader: ThreadReader,
  keys: KeyRing,
  checkpoint: Checkpoint | undefined,
): Promise<{ readonly verdict: Verdict; readonly head: HeadRow | undefined }> => {
  const keyed = keys.current.isSecret
  const [head] = await reader.all<HeadAndLast>(readHeadAndLast, [])
  if (head === undefined) {
    const [first] = await reader.all<{ seq: number | null }>(readFirst, [])
    const seq = first?.seq ?? (checkpoint === undefined ? undefined : 1)
    const broken = seq === undefined ? undefined : ({ seq, kind: 'head' } as const)
    return { verdict: toVerdict(keyed, undefined, 0, broken, undefined), head }
  }
  const start = keys.find(head.pruned_key)
  // Reported instead of faults of rows: with a wrong key every row looks altered.
  if (start === undefined || keys.find(head.key) === undefined || (keyed && !keys.current.id.equals(head.key)))
    return { verdict: toVerdict(keyed, head, 0, { seq: head.pruned_seq + 1, kind: 'key' }, undefined), head }
  const walked = await walk(reader, keys, head, start, checkpoint)
  let broken = walked.broken ?? faultOfHead(keys, head, walked)
  // The trail ends before the checkpoint: its end was cut off, or an older database was restored.
  if (broken === undefined && checkpoint !== undefined && checkpoint.seq > head.seq)
    broken = { seq: head.seq + 1, kind: 'truncated' }
  const isGone = checkpoint !== undefined && checkpoint.seq < head.pruned_seq
  const seen = isGone ? 'pruned' : walked.isMatched ? 'matches' : undefined
  return { verdict: toVerdict(keyed, head, walked.checked, broken, seen), head }
}

/** `server audit verify` and GET /_audit/verify. Throws what reading the database throws. */
export const verifyTrail = async (
  reader: ThreadReader,
  { key, previousKeys, checkpoint }: VerifyInput,
): Promise<Verdict> => {
  const keys = createKeyRing(key, previousKeys)
  for (let count = 1; ; count += 1) {
    const { verdict, head } = await attempt(reader, keys, checkpoint)
    if (verdict.ok || count === MAX_ATTEMPTS) return verdict
    // Rows that were pruned during the walk look as if they were missing, so it is repeated.
    const [now] = await reader.all<HeadRow>(readHeadAndLast, [])
    if (now?.pruned_seq === head?.pruned_seq) return verdict
  }
}

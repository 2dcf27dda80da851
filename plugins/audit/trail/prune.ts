/**
 * Prunes events older than retention_days, in slices. Each slice is verified before it is deleted, so that evidence of
 * tampering is kept. The number and seal of the last pruned row are stored in the head and sealed again.
 */
import type { Clock, Logger } from '../../../kernel/index.ts'
import type { Database, Transaction } from '../../database/service.ts'
import { lastSeqOf, spanOf } from '../batch.ts'
import type { KeyRing } from '../chain/key.ts'
import { proveKey, sealPruned, sealRow } from '../chain/seals.ts'
import { eventCode } from '../event.ts'
import {
  deleteBlocks,
  deleteRows,
  type HeadRow,
  lockHead,
  type Row,
  readHead,
  readRows,
  updatePrunedUntil,
} from '../tables.ts'
import type { Trail } from './trail.ts'

const DAY_MS = 86_400_000
const SLICE_ROWS = 100 // rows deleted in one transaction
const REKEY = eventCode('rekey')

export interface PruneParts {
  readonly database: Database
  readonly keys: KeyRing
  readonly trail: Trail
  readonly days: number
  readonly clock: Clock
  readonly log: Logger
}

type Pruned = Pick<HeadRow, 'pruned_seq' | 'pruned_mac' | 'pruned_count' | 'pruned_key'>

/** The record of pruning after these rows; undefined when the rows were altered. */
const followed = (keys: KeyRing, head: HeadRow, rows: readonly Row[]): Pruned | undefined => {
  let key = keys.find(head.pruned_key)
  let { pruned_seq: seq, pruned_mac: mac, pruned_count: count } = head
  for (const row of rows) {
    if (key === undefined || row.seq !== seq + 1 || !sealRow(key, head.chain, mac, row).equals(row.mac))
      return undefined
    if (row.kind === REKEY && row.proof !== null) {
      key = keys.find(row.proof.subarray(0, key.id.length))
      if (key === undefined || !proveKey(key, head.chain, row.seq, mac).equals(row.proof)) return undefined
    }
    count += spanOf(row)
    seq = lastSeqOf(row)
    mac = row.mac
  }
  if (key === undefined) return undefined
  return { pruned_seq: seq, pruned_mac: mac, pruned_count: count, pruned_key: key.id }
}

const cut = async (transaction: Transaction, keys: KeyRing, head: HeadRow, after: Pruned): Promise<boolean> => {
  const now = await transaction.get<HeadRow>(lockHead, [])
  const key = now === undefined ? undefined : keys.find(now.key)
  // Another server has pruned meanwhile.
  if (now === undefined || key === undefined || now.pruned_seq !== head.pruned_seq) return false
  await transaction.run(deleteRows, [head.pruned_seq, after.pruned_seq])
  await transaction.run(deleteBlocks, [after.pruned_seq])
  const seal = sealPruned(key, { chain: now.chain, ...after })
  await transaction.run(updatePrunedUntil, [
    after.pruned_seq,
    after.pruned_mac,
    after.pruned_count,
    after.pruned_key,
    seal,
  ])
  return true
}

/** Resolves with the number of deleted rows. */
export const pruneTrail = async ({ database, keys, trail, days, clock, log }: PruneParts): Promise<number> => {
  const oldest = clock.now() - days * DAY_MS // time of the oldest event to keep
  let gone = 0
  for (let isMore = true; isMore; ) {
    const head = await database.get<HeadRow>(readHead, [])
    if (head === undefined) break
    const sealer = keys.find(head.key)
    if (sealer === undefined || !sealPruned(sealer, head).equals(head.pruned_seal)) {
      log.error({ seq: head.pruned_seq }, 'the audit trail is broken and is not pruned: run server audit verify')
      break
    }
    // The last row stays: new rows are chained to it.
    const last = head.seq - 1
    if (last <= head.pruned_seq) break
    const found = await database.all<Row>(readRows, [head.pruned_seq, last, SLICE_ROWS])
    const slice = found.filter((row) => lastSeqOf(row) <= last)
    const young = slice.findIndex(({ at }) => at >= oldest)
    if (young === 0) break
    const rows = young === -1 ? slice : slice.slice(0, young)
    isMore = rows.length === SLICE_ROWS
    const after = rows.length === 0 ? undefined : followed(keys, head, rows)
    if (after === undefined) {
      log.error({ seq: head.pruned_seq + 1 }, 'the audit trail is broken and is not pruned: run server audit verify')
      break
    }
    if (await database.transact((transaction) => cut(transaction, keys, head, after)))
      gone += after.pruned_count - head.pruned_count
  }
  if (gone > 0) {
    const head = await database.get<HeadRow>(readHead, [])
    await trail.write([{ at: clock.now(), kind: 'prune', status: 200, number: head?.pruned_seq }])
    log.info({ events: gone, upto: head?.pruned_seq }, 'pruned the audit trail')
  }
  return gone
}

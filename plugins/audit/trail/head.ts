/** The head of the chain: its end, after which rows are appended. */
import type { Transaction } from '../../database/service.ts'
import { lastSeqOf } from '../batch.ts'
import type { ChainKey } from '../chain/key.ts'
import { GENESIS, sealHead, sealPruned, sealRow } from '../chain/seals.ts'
import { type HeadRow, updateHead } from '../tables.ts'
import type { UnnumberedRow } from './event-rows.ts'
import { insertTrailRows } from './insert.ts'

/** The columns that the next row needs. */
export type Head = Pick<HeadRow, 'chain' | 'seq' | 'mac' | 'count'>

export type SealedHead = Head & Pick<HeadRow, 'seal'>

/** The head of a chain without rows. */
export const newHead = (key: ChainKey, chain: Buffer): HeadRow => {
  const head = { chain, seq: 0, mac: GENESIS, count: 0, key: key.id }
  const pruned = { pruned_seq: 0, pruned_mac: GENESIS, pruned_count: 0, pruned_key: key.id }
  return {
    ...head,
    ...pruned,
    seal: sealHead(key, head),
    pruned_seal: sealPruned(key, { chain, ...pruned }),
  }
}

/**
 * Numbers and seals rows, appends them after the head, and updates the head. `next` is the key in force from then on.
 */
export const appendRows = async (
  transaction: Transaction,
  key: ChainKey,
  head: Head,
  rows: readonly UnnumberedRow[],
  next: ChainKey = key,
): Promise<SealedHead> => {
  let { seq, mac } = head
  for (const row of rows) {
    row.seq = seq + 1
    seq = lastSeqOf(row)
    mac = sealRow(key, head.chain, mac, row)
    row.mac = mac
  }
  const after = { chain: head.chain, seq, mac, count: head.count + seq - head.seq }
  const seal = sealHead(next, after)
  // The head comes first, as for a server that reads it with a lock. One that inserted its rows first would hold the row
  // that the other inserts next while it waits for the head: a deadlock, for which PostgreSQL stops both for a second.
  await transaction.run(updateHead, [after.seq, after.mac, after.count, next.id, seal, head.seq])
  await insertTrailRows(transaction, rows)
  return { ...after, seal }
}

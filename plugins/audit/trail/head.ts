/** Where the chain ends: what the next rows follow, and how it is written. */
import type { Param, Transaction } from '../../database/service.ts'
import type { ChainKey } from '../chain/key.ts'
import { GENESIS, sealHead, sealPruned, sealRow } from '../chain/seals.ts'
import { addParams, type HeadRow, inserts, type Row, updateHead } from '../tables.ts'
import type { Unplaced } from './rows.ts'

/** Only what the next row needs. */
export type Head = Pick<HeadRow, 'chain' | 'seq' | 'mac' | 'count'>

/** A chain without rows. */
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

const insertAll = async (transaction: Transaction, rows: readonly Row[]): Promise<void> => {
  let from = 0
  for (const [count, statement] of inserts)
    while (rows.length - from >= count) {
      const params: Param[] = []
      for (let at = from; at < from + count; at += 1) addParams(params, rows[at] as Row)
      const written = transaction.run(statement, params)
      if (written !== undefined) await written
      from += count
    }
}

/** Writes the rows behind the head, and the head behind them; answers both. `next` is the key in force from then on. */
export const appendRows = async (
  transaction: Transaction,
  key: ChainKey,
  head: Head,
  rows: readonly Unplaced[],
  next: ChainKey = key,
): Promise<{ readonly head: Head; readonly rows: readonly Row[] }> => {
  let { seq, mac } = head
  const placed = rows.map((row): Row => {
    seq += 1
    const unsealed = { ...row, seq }
    mac = sealRow(key, head.chain, mac, unsealed)
    return Object.assign(unsealed, { mac })
  })
  await insertAll(transaction, placed)
  const after = { chain: head.chain, seq, mac, count: head.count + rows.length }
  await transaction.run(updateHead, [after.seq, after.mac, after.count, next.id, sealHead(next, after)])
  return { head: after, rows: placed }
}

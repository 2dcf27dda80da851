/**
 * Opens the audit trail at start: creates its head, changes its key, and reports a head that was changed from outside.
 * A trail whose key is not configured is not written to.
 */
import { randomBytes } from 'node:crypto'
import type { Clock, Logger } from '../../../kernel/index.ts'
import type { Database, Transaction } from '../../database/service.ts'
import { lastSeqOf } from '../batch.ts'
import type { KeyRing } from '../chain/key.ts'
import { proveKey, sealHead, sealPruned } from '../chain/seals.ts'
import { HeadMissing, KeyMismatch } from '../errors.ts'
import type { TrailEvent } from '../event.ts'
import { type HeadRow, insertHead, lockHead, type Row, readFirst, readLast, updatePrunedUntil } from '../tables.ts'
import { toRows } from './event-rows.ts'
import { appendRows, newHead } from './head.ts'

const CHAIN_BYTES = 16

export interface OpenParts {
  readonly database: Database
  readonly keys: KeyRing
  readonly clock: Clock
  readonly log: Logger
}

const begin = async (transaction: Transaction, { keys }: OpenParts): Promise<HeadRow> => {
  const first = await transaction.get<{ seq: number | null }>(readFirst, [])
  if (typeof first?.seq === 'number') {
    // Another server that starts at the same time may have created the head and an event since the head was looked up.
    const made = await transaction.get<HeadRow>(lockHead, [])
    if (made === undefined) throw HeadMissing()
    return made
  }
  const head = newHead(keys.current, randomBytes(CHAIN_BYTES))
  const { chain, seq, mac, count, key, seal, pruned_seq, pruned_mac, pruned_count, pruned_key, pruned_seal } = head
  await transaction.run(insertHead, [
    chain,
    seq,
    mac,
    count,
    key,
    seal,
    pruned_seq,
    pruned_mac,
    pruned_count,
    pruned_key,
    pruned_seal,
  ])
  return (await transaction.get<HeadRow>(lockHead, [])) as HeadRow
}

/** What is wrong with the head, as far as two queries show. */
const faultOf = async (transaction: Transaction, keys: KeyRing, head: HeadRow): Promise<string | undefined> => {
  const key = keys.find(head.key)
  if (key === undefined) throw KeyMismatch()
  if (!sealHead(key, head).equals(head.seal)) return 'its seal does not fit'
  if (!sealPruned(key, head).equals(head.pruned_seal)) return 'the seal of what was pruned does not fit'
  if (head.seq === head.pruned_seq) return undefined
  const last = await transaction.get<Row>(readLast, [])
  if (last !== undefined && last.seq > head.seq) return 'there are events behind the last one'
  if (last === undefined || lastSeqOf(last) !== head.seq) return 'the last event is missing'
  return Buffer.from(head.mac).equals(last.mac) ? undefined : 'the last event is another one'
}

/** Changes the key: the row that records it is sealed with the old key and proves that the new one is known. */
const changeKey = async (transaction: Transaction, { keys, clock }: OpenParts, head: HeadRow): Promise<void> => {
  const old = keys.find(head.key)
  if (old === undefined) throw KeyMismatch()
  const { chain, pruned_seq, pruned_mac, pruned_count, pruned_key } = head
  const proof = proveKey(keys.current, chain, head.seq + 1, head.mac)
  const event: TrailEvent = { at: clock.now(), kind: 'rekey', status: 200, proof }
  await appendRows(transaction, old, head, toRows([event]), keys.current)
  const seal = sealPruned(keys.current, head)
  await transaction.run(updatePrunedUntil, [pruned_seq, pruned_mac, pruned_count, pruned_key, seal])
}

/** Throws KeyMismatch or HeadMissing, which stops the start. */
export const openTrail = async (parts: OpenParts): Promise<void> => {
  const { database, keys, clock, log } = parts
  const fault = await database.transact(async (transaction) => {
    const head = (await transaction.get<HeadRow>(lockHead, [])) ?? (await begin(transaction, parts))
    const found = await faultOf(transaction, keys, head)
    // The trail is continued and the damage is left as it is, so that it can be examined.
    if (found !== undefined) {
      const key = keys.find(head.key)
      const alarm: TrailEvent = { at: clock.now(), kind: 'alarm', status: 500 }
      if (key !== undefined) await appendRows(transaction, key, head, toRows([alarm]))
    }
    const now = (await transaction.get<HeadRow>(lockHead, [])) as HeadRow
    if (!keys.current.id.equals(now.key)) await changeKey(transaction, parts, now)
    return found
  })
  if (fault !== undefined) log.error({ fault }, 'the audit trail was changed by somebody else: run server audit verify')
}

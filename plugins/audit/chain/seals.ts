/** What is sealed: each row with the one before it, the head, what was pruned, and a change of keys. */
import type { HeadRow, Row } from '../tables.ts'
import type { ChainKey } from './key.ts'

/** The MAC before the first row. */
export const GENESIS = Buffer.alloc(32)

/** MAC of a row: of everything in it, of its place, and of the MAC before it. */
export const sealRow = (key: ChainKey, chain: Uint8Array, previous: Uint8Array, row: Omit<Row, 'mac'>): Buffer => {
  key.begin('audit-v1')
  key.bytes(chain)
  key.number(row.seq)
  key.bytes(previous)
  key.bytes(key.id)
  key.number(row.at)
  key.number(row.kind)
  key.number(row.status)
  key.text(row.type)
  key.bytes(row.id)
  key.number(row.ver)
  key.bytes(row.patient)
  key.text(row.client)
  key.text(row.person)
  key.text(row.token)
  key.text(row.address)
  key.bytes(row.request)
  key.text(row.operation)
  key.text(row.query)
  key.number(row.number)
  key.bytes(row.proof)
  // Rows from before there were packs have no place for it.
  if (row.pack !== null) key.bytes(row.pack)
  return key.end()
}

export const sealHead = (key: ChainKey, head: Pick<HeadRow, 'chain' | 'seq' | 'mac' | 'count'>): Buffer => {
  key.begin('audit-head-v1')
  key.bytes(head.chain)
  key.number(head.seq)
  key.bytes(head.mac)
  key.number(head.count)
  key.bytes(key.id)
  return key.end()
}

/** What was pruned, and the key in force behind it; sealed with the key that is in force now. */
export const sealPruned = (
  key: ChainKey,
  head: Pick<HeadRow, 'chain' | 'pruned_seq' | 'pruned_mac' | 'pruned_count' | 'pruned_key'>,
): Buffer => {
  key.begin('audit-pruned-v1')
  key.bytes(head.chain)
  key.number(head.pruned_seq)
  key.bytes(head.pruned_mac)
  key.number(head.pruned_count)
  key.bytes(head.pruned_key)
  return key.end()
}

/** Shows that whoever changed keys had the new one: stored in a row that is itself sealed with the old one. */
export const proveKey = (key: ChainKey, chain: Uint8Array, seq: number, previous: Uint8Array): Buffer => {
  key.begin('audit-rekey-v1')
  key.bytes(chain)
  key.number(seq)
  key.bytes(previous)
  return Buffer.concat([key.id, key.end()])
}

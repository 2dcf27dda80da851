/**
 * Seals (MACs) of the audit trail: of each row with the one before it, of the head, of the record of pruning, and of a
 * change of keys.
 */
import type { HeadRow, Row } from '../tables.ts'
import type { ChainKey } from './key.ts'

/** The MAC before the first row. */
export const GENESIS = Buffer.alloc(32)

/** MAC of a row: over all of its columns, its number, and the MAC of the row before. */
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
  // Rows that were written before batches existed have no field for it.
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

/**
 * Seals the record of pruning, with the key that was in force after the pruned rows; the seal is made with the current
 * key.
 */
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

/**
 * Proves that the server that changed the key had the new one. The proof is stored in a row that is sealed with the old
 * key.
 */
export const proveKey = (key: ChainKey, chain: Uint8Array, seq: number, previous: Uint8Array): Buffer => {
  key.begin('audit-rekey-v1')
  key.bytes(chain)
  key.number(seq)
  key.bytes(previous)
  return Buffer.concat([key.id, key.end()])
}

/** Seals a row of the inbox, which a server has written that does not append to the trail. */
export const sealInbox = (
  key: ChainKey,
  chain: Uint8Array,
  { server, n, body }: { readonly server: string; readonly n: number; readonly body: Uint8Array },
): Buffer => {
  key.begin('audit-inbox-v1')
  key.bytes(chain)
  key.bytes(key.id)
  key.text(server)
  key.number(n)
  key.bytes(body)
  return key.end()
}

/**
 * A block covers BLOCK_ROWS consecutive rows and holds keys by which they can be found. Its bounds are fixed, so that
 * every server makes the same block.
 */

import type { Entry } from '../batch.ts'
import { encodeId } from '../id.ts'
import type { Row } from '../tables.ts'
import { createBloomFilter, filterKeyOf, type KeyColumn } from './bloom-filter.ts'

export const BLOCK_ROWS = 1_024

/** First row of the block that contains a row; rows are numbered from 1. */
export const blockStart = (seq: number): number => Math.floor((seq - 1) / BLOCK_ROWS) * BLOCK_ROWS + 1

/** A row of `audit_block`. */
export interface AuditBlock {
  readonly first_seq: number
  readonly last_seq: number
  /** Milliseconds since the epoch. */
  readonly min_at: number
  readonly max_at: number
  /** Bloom filter over patients, ids, clients and persons of its rows: bloom-filter.ts. */
  readonly filter: Uint8Array
}

export type IndexedRow = Pick<Row, 'seq' | 'at' | 'id' | 'patient' | 'client' | 'person'>

/** Collects the rows of one block. */
export class OpenBlock {
  readonly #keys = new Set<number>()
  readonly #known: Readonly<Record<KeyColumn, Set<string>>> = {
    id: new Set(),
    patient: new Set(),
    client: new Set(),
    person: new Set(),
  }
  #from = Number.MAX_SAFE_INTEGER
  #to = Number.MIN_SAFE_INTEGER

  add({ at, id, patient, client, person }: IndexedRow): void {
    if (at < this.#from) this.#from = at
    if (at > this.#to) this.#to = at
    if (id !== null) this.#keys.add(filterKeyOf('id', id))
    if (patient !== null) this.#keys.add(filterKeyOf('patient', patient))
    if (client !== null) this.#keys.add(filterKeyOf('client', client))
    if (person !== null) this.#keys.add(filterKeyOf('person', person))
  }

  /**
   * Adds an event of a batch. Values are compared before their keys are made, because most are repeated and making a
   * key takes longer.
   */
  addEntry({ event, patient }: Entry): void {
    const { at, id, client, user } = event
    if (at < this.#from) this.#from = at
    if (at > this.#to) this.#to = at
    if (id !== undefined) this.#know('id', id)
    if (patient !== undefined) this.#know('patient', patient)
    if (client !== undefined) this.#know('client', client)
    if (user !== undefined) this.#know('person', user)
  }

  #know(column: KeyColumn, value: string): void {
    const known = this.#known[column]
    if (known.has(value)) return
    known.add(value)
    this.#keys.add(filterKeyOf(column, column === 'id' || column === 'patient' ? encodeId(value) : value))
  }

  toBlock(first: number): AuditBlock {
    return {
      first_seq: first,
      last_seq: first + BLOCK_ROWS - 1,
      min_at: this.#from,
      max_at: this.#to,
      filter: createBloomFilter(this.#keys),
    }
  }
}

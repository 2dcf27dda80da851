/**
 * A block stands for so many rows in a line, and says by what they can be found. Its bounds are fixed, so that whoever
 * makes it makes the same.
 */
import { packId } from '../id.ts'
import type { Entry } from '../pack.ts'
import type { Row } from '../tables.ts'
import { type KeyColumn, keyOf, makeFilter } from './filter.ts'

export const BLOCK_ROWS = 1_024

/** First row of the block that a row belongs to; rows begin with 1. */
export const firstOf = (seq: number): number => Math.floor((seq - 1) / BLOCK_ROWS) * BLOCK_ROWS + 1

/** A row of `audit_block`. */
export interface Block {
  readonly first_seq: number
  readonly last_seq: number
  /** Milliseconds since the epoch. */
  readonly min_at: number
  readonly max_at: number
  /** Over patients, ids, clients and persons of its rows: filter.ts. */
  readonly filter: Uint8Array
}

export type Findable = Pick<Row, 'seq' | 'at' | 'id' | 'patient' | 'client' | 'person'>

/** Takes the rows of one block. */
export class Gathering {
  readonly #keys = new Set<number>()
  readonly #known: Readonly<Record<KeyColumn, Set<string>>> = {
    id: new Set(),
    patient: new Set(),
    client: new Set(),
    person: new Set(),
  }
  #from = Number.MAX_SAFE_INTEGER
  #to = Number.MIN_SAFE_INTEGER

  add({ at, id, patient, client, person }: Findable): void {
    if (at < this.#from) this.#from = at
    if (at > this.#to) this.#to = at
    if (id !== null) this.#keys.add(keyOf('id', id))
    if (patient !== null) this.#keys.add(keyOf('patient', patient))
    if (client !== null) this.#keys.add(keyOf('client', client))
    if (person !== null) this.#keys.add(keyOf('person', person))
  }

  /** An event of a pack. The same names come again and again, and making their keys takes longer than knowing them. */
  tell({ event, patient }: Entry): void {
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
    this.#keys.add(keyOf(column, column === 'id' || column === 'patient' ? packId(value) : value))
  }

  toBlock(first: number): Block {
    return {
      first_seq: first,
      last_seq: first + BLOCK_ROWS - 1,
      min_at: this.#from,
      max_at: this.#to,
      filter: makeFilter(this.#keys),
    }
  }
}

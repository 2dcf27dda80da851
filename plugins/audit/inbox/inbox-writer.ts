/**
 * What the trail is on a server that only reads: events go to the inbox, sealed with the key of the trail, and the server that
 * writes moves them into it. Rows are written one after the other, each with the next number: one whose outcome is not known
 * is written again as it was, so that no number is left out and none is there twice.
 */
import {
  type Database,
  type MaybePromise,
  type StatementRunner,
  type TransactOptions,
  whenStored,
} from '../../database/service.ts'
import { encodeBatch, eventsOf } from '../batch.ts'
import type { ChainKey, KeyRing } from '../chain/key.ts'
import { sealInbox } from '../chain/seals.ts'
import { KeyMismatch, TrailUnavailable } from '../errors.ts'
import type { TrailEvent } from '../event.ts'
import { type HeadRow, readHead } from '../tables.ts'
import type { Trail } from '../trail/trail.ts'
import { hardenInbox, type InboxRow, insertInbox, touchAnchor } from './inbox-rows.ts'

export interface InboxWriter extends Trail {
  /** Waits for a trail, and takes its key. Throws KeyMismatch. */
  open(signal: AbortSignal | undefined, onWait: () => void): Promise<void>
  /** Shows the server that writes that this one is alive. */
  touch(now: number): Promise<void>
}

/** The operations of a database that the writer uses. */
export interface InboxDatabase extends Pick<Database, 'get'> {
  transact<T>(work: (on: StatementRunner) => MaybePromise<T>, options?: TransactOptions): Promise<T>
}

export interface InboxWriterParts {
  readonly database: InboxDatabase
  readonly keys: KeyRing
  /** Id of this process. */
  readonly server: string
}

interface Unwritten {
  readonly row: InboxRow
  readonly events: readonly TrailEvent[]
}

export const createInboxWriter = ({ database, keys, server }: InboxWriterParts): InboxWriter => {
  let sealer: { readonly key: ChainKey; readonly chain: Uint8Array } | undefined
  let last = 0
  let unwritten: Unwritten | undefined

  const toRow = (events: readonly TrailEvent[]): InboxRow => {
    if (sealer === undefined) throw TrailUnavailable()
    const { key, chain } = sealer
    const body = encodeBatch(eventsOf(events)).bytes
    const place = { server, n: last + 1, body }
    return { ...place, key: key.id, seal: sealInbox(key, chain, place) }
  }
  const writeOne = async ({ row }: Unwritten, asynchronousCommit: boolean): Promise<void> => {
    const { n, key, body, seal } = row
    await database.transact((transaction) => transaction.run(insertInbox, [server, n, key, body, seal]), {
      asynchronousCommit,
      shared: true,
    })
    last = n
    unwritten = undefined
  }
  return {
    async open(signal, onWait) {
      const find = async (): Promise<HeadRow | undefined> => database.get<HeadRow>(readHead, [])
      const { key: id, chain } = await whenStored(signal, find, onWait)
      // The server that writes has it, whatever key is to follow it.
      const key = keys.find(id)
      if (key === undefined) throw KeyMismatch()
      sealer = { key, chain }
    },
    append() {
      throw TrailUnavailable()
    },
    async write(events, { asynchronousCommit = false } = {}) {
      let left = events
      if (unwritten !== undefined) {
        const { events: before } = unwritten
        await writeOne(unwritten, asynchronousCommit)
        // The queue begins with the same events again.
        const isRepeated = before.every((event, at) => event === left[at])
        if (isRepeated) left = left.slice(before.length)
      }
      if (left.length === 0) return
      unwritten = { row: toRow(left), events: left }
      await writeOne(unwritten, asynchronousCommit)
    },
    flush: async () => {
      await database.transact((transaction) => transaction.get(hardenInbox, []), { shared: true })
    },
    touch: (now) => database.transact((transaction) => transaction.run(touchAnchor, [now, server]), { shared: true }),
  }
}

/** Keeps the full-text index in step with the resources, in the transactions that write them. */

import { type Database, insertImmediately, type MaybePromise, type Transaction } from '../../../database/service.ts'
import { decompressBody } from '../../../storage/service.ts'
import { toIndexFindings } from '../index-findings.ts'
import type { IndexWriter } from '../index-writer.ts'
import { type ResourceText, resourceTextOf } from './resource-text.ts'
import { createTextState, type FullTextMode } from './text-state.ts'
import { deleteText, insertText, readTextBatch } from './text-tables.ts'

const BATCH = 100 // most resources of one transaction
interface BodyRow {
  readonly rid: number
  readonly flags: number
  readonly body: Buffer
}

type Json = Readonly<Record<string, unknown>>

const both = (one: MaybePromise<void>, other: MaybePromise<void>): MaybePromise<void> =>
  one instanceof Promise || other instanceof Promise ? Promise.all([one, other]).then(() => undefined) : undefined

export const createFullTextIndex = (database: Database, mode: FullTextMode) => {
  const state = createTextState(database, mode)
  const read = (resource: Json): ResourceText => resourceTextOf(resource, mode === 'all')
  /** `isNew`: the index holds nothing of this resource, so its row may be inserted after the transaction. */
  const put = (
    transaction: Transaction,
    rid: number,
    { narrative, content }: ResourceText,
    isNew: boolean,
  ): MaybePromise<void> => {
    if (narrative === '' && content === '') return undefined
    const params = [rid, narrative, content]
    return isNew ? transaction.insertDeferred(insertText, params) : insertImmediately(transaction, insertText, params)
  }

  const change = (
    transaction: Transaction,
    rid: number,
    now: Json | undefined,
    before: Json | undefined,
  ): MaybePromise<void> => {
    return exchange(transaction, rid, now && read(now), before && read(before))
  }
  const exchange = (
    transaction: Transaction,
    rid: number,
    words: ResourceText | undefined,
    old: ResourceText | undefined,
  ): MaybePromise<void> => {
    if (old !== undefined && words?.narrative === old.narrative && words.content === old.content) return undefined
    const removed = old === undefined ? undefined : transaction.run(deleteText, [rid])
    return words === undefined ? removed : both(removed, put(transaction, rid, words, old === undefined))
  }

  const fill = async (signal?: AbortSignal): Promise<void> => {
    for (let at = await state.reached(); !signal?.aborted; ) {
      const next = await database.transact(async (transaction) => {
        const rows = await transaction.all<BodyRow>(readTextBatch, [at, BATCH])
        for (const { rid, flags, body } of rows) {
          const text = decompressBody(body, flags).toString('utf8')
          await transaction.run(deleteText, [rid])
          await put(transaction, rid, read(JSON.parse(text) as Json), false)
        }
        const last = rows.at(-1)?.rid
        await state.advance(transaction, last)
        return last
      })
      if (next === undefined) return
      at = next
    }
  }

  return {
    mode,
    /** Returns an index writer that also writes the full-text index. */
    beside: (rows: IndexWriter): IndexWriter =>
      mode === 'none'
        ? rows
        : {
            ...rows,
            write(transaction, next, resource, previous, findings) {
              if (findings !== undefined) {
                const { words, before } = toIndexFindings(findings)
                return both(
                  rows.write(transaction, next, resource, previous, findings),
                  exchange(transaction, next.rid, resource && words, before?.words),
                )
              }
              const before =
                previous === undefined || previous.deleted ? undefined : (JSON.parse(previous.text) as Json)
              return both(
                rows.write(transaction, next, resource, previous),
                change(transaction, next.rid, resource, before),
              )
            },
          },
    /** False while the index does not hold the words that this server's mode asks for, so that a search would miss some. */
    get isComplete() {
      return state.isComplete
    },
    /** Looks whether another server has filled the index, or fills it for another mode. */
    async look(): Promise<void> {
      await state.look()
    },
    /**
     * Rebuilds the full-text index when the setting has changed; a server that only reads waits for that. Stops between two
     * batches when `signal` aborts.
     */
    async complete(signal?: AbortSignal): Promise<void> {
      if (database.isReader) return state.whenComplete(signal)
      if (await state.look()) return
      await state.begin()
      if (mode !== 'none') await fill(signal)
      await state.look()
    },
    /** Empties the full-text index, so that `complete` fills it again. */
    clear: state.clear,
  }
}

export type FullTextIndex = ReturnType<typeof createFullTextIndex>

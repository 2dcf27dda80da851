/** Keeps the full-text index in step with the resources, in the transactions that write them. */

import {
  type Database,
  insertImmediately,
  type MaybePromise,
  type Transaction,
  whenStored,
} from '../../../database/service.ts'
import { decompressBody } from '../../../storage/service.ts'
import { toIndexFindings } from '../index-findings.ts'
import type { IndexWriter } from '../index-writer.ts'
import { type ResourceText, resourceTextOf } from './resource-text.ts'
import { clearText, deleteText, insertText, readTextBatch, readTextSetting, writeTextSetting } from './text-tables.ts'

/** Indexes all texts, only narratives, or nothing. */
export type FullTextMode = 'all' | 'narrative' | 'none'

const BATCH = 100 // most resources of one transaction
const MODE = 'words'
/** Version of the extraction of words. After an increase the next start indexes all resources again. */
const VERSION = 3
const PROGRESS = 'words-rid'

interface BodyRow {
  readonly rid: number
  readonly flags: number
  readonly body: Buffer
}

type Json = Readonly<Record<string, unknown>>

const both = (one: MaybePromise<void>, other: MaybePromise<void>): MaybePromise<void> =>
  one instanceof Promise || other instanceof Promise ? Promise.all([one, other]).then(() => undefined) : undefined

export const createFullTextIndex = (database: Database, mode: FullTextMode) => {
  /** The value of the setting when the index is complete. */
  const held = mode === 'none' ? mode : `${mode} ${VERSION}`
  /** Its value while the index is filled: no server takes an index for complete that another one has left half filled. */
  const filling = `${held} soon`
  let isComplete = false
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

  const setting = async (name: string): Promise<string | undefined> =>
    (await database.get<{ value: string }>(readTextSetting, [name]))?.value

  /** Publishes the change too, so that other servers look at once. */
  const record = (transaction: Transaction, value: string): MaybePromise<void> => {
    transaction.publish({ about: 'search-columns' })
    return transaction.run(writeTextSetting, [MODE, value])
  }

  const fill = async (signal?: AbortSignal): Promise<void> => {
    for (let at = Number((await setting(PROGRESS)) ?? 0); !signal?.aborted; ) {
      const next = await database.transact(async (transaction) => {
        const rows = await transaction.all<BodyRow>(readTextBatch, [at, BATCH])
        for (const { rid, flags, body } of rows) {
          const text = decompressBody(body, flags).toString('utf8')
          await transaction.run(deleteText, [rid])
          await put(transaction, rid, read(JSON.parse(text) as Json), false)
        }
        const last = rows.at(-1)?.rid
        await transaction.run(writeTextSetting, [PROGRESS, String(last ?? 0)])
        if (last === undefined) await record(transaction, held)
        return last
      })
      if (next === undefined) return
      at = next
    }
  }

  /** `fill` begins at the first resource. `isEmptied`: existing rows are removed now; otherwise `fill` replaces them. */
  const beginAnew = (isEmptied: boolean): Promise<void> =>
    database.transact(async (transaction) => {
      if (isEmptied) await transaction.run(clearText, [])
      await transaction.run(writeTextSetting, [PROGRESS, '0'])
      await record(transaction, mode === 'none' ? held : filling)
    })
  const look = async (): Promise<boolean> => {
    isComplete = (await setting(MODE)) === held
    return isComplete
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
      return isComplete
    },
    /** Looks whether another server has filled the index, or fills it for another mode. */
    async look(): Promise<void> {
      await look()
    },
    /**
     * Rebuilds the full-text index when the setting has changed; a server that only reads waits for that. Stops between two
     * batches when `signal` aborts.
     */
    async complete(signal?: AbortSignal): Promise<void> {
      if (database.isReader) {
        await whenStored(signal, async () => (await look()) || undefined)
        return
      }
      if (await look()) return
      const stored = await setting(MODE)
      if (stored !== filling || mode === 'none') await beginAnew(stored === undefined || mode === 'none')
      if (mode !== 'none') await fill(signal)
      await look()
    },
    /** Empties the full-text index, so that `complete` fills it again. */
    async clear(): Promise<void> {
      isComplete = false
      await beginAnew(true)
    },
  }
}

export type FullTextIndex = ReturnType<typeof createFullTextIndex>

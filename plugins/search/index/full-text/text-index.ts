/** Keeps the index of words beside the resources, in the transactions that write them. */

import { type Database, type Eventually, insertNow, type Transaction } from '../../../database/service.ts'
import { unpackBody } from '../../../storage/service.ts'
import { toIndexFindings } from '../index-findings.ts'
import type { IndexRows } from '../index-writer.ts'
import { type ResourceWords, wordsOf } from './resource-text.ts'
import {
  clearWords,
  deleteWords,
  insertWords,
  readWordBatch,
  readWordSetting,
  writeWordSetting,
} from './text-tables.ts'

/** What is indexed: all texts, narratives only, nothing. */
export type WordMode = 'all' | 'narrative' | 'none'

const BATCH = 100 // resources of one transaction
const MODE = 'words'
/** How words are made of a resource: a new number makes the next start index those of all resources anew. */
const VERSION = 2
const PROGRESS = 'words-rid'

interface BodyRow {
  readonly rid: number
  readonly flags: number
  readonly body: Buffer
}

type Json = Readonly<Record<string, unknown>>

const both = (one: Eventually<void>, other: Eventually<void>): Eventually<void> =>
  one instanceof Promise || other instanceof Promise ? Promise.all([one, other]).then(() => undefined) : undefined

export const createWordRows = (database: Database, mode: WordMode) => {
  /** What the index holds once it is complete. */
  const held = mode === 'none' ? mode : `${mode} ${VERSION}`
  const read = (resource: Json): ResourceWords => wordsOf(resource, mode === 'all')
  /** `isNew`: nothing of it is in the index, so it may come there later. */
  const put = (
    transaction: Transaction,
    rid: number,
    { narrative, content }: ResourceWords,
    isNew: boolean,
  ): Eventually<void> => {
    if (narrative === '' && content === '') return undefined
    const params = [rid, narrative, content]
    return isNew ? transaction.later(insertWords, params) : insertNow(transaction, insertWords, params)
  }

  const change = (
    transaction: Transaction,
    rid: number,
    now: Json | undefined,
    before: Json | undefined,
  ): Eventually<void> => {
    return exchange(transaction, rid, now && read(now), before && read(before))
  }
  const exchange = (
    transaction: Transaction,
    rid: number,
    words: ResourceWords | undefined,
    old: ResourceWords | undefined,
  ): Eventually<void> => {
    if (old !== undefined && words?.narrative === old.narrative && words.content === old.content) return undefined
    const removed = old === undefined ? undefined : transaction.run(deleteWords, [rid])
    return words === undefined ? removed : both(removed, put(transaction, rid, words, old === undefined))
  }

  const setting = async (name: string): Promise<string | undefined> =>
    (await database.get<{ value: string }>(readWordSetting, [name]))?.value

  const fill = async (signal?: AbortSignal): Promise<void> => {
    for (let at = Number((await setting(PROGRESS)) ?? 0); !signal?.aborted; ) {
      const next = await database.transact(async (transaction) => {
        const rows = await transaction.all<BodyRow>(readWordBatch, [at, BATCH])
        for (const { rid, flags, body } of rows) {
          const text = unpackBody(body, flags).toString('utf8')
          await transaction.run(deleteWords, [rid])
          await put(transaction, rid, read(JSON.parse(text) as Json), false)
        }
        const last = rows.at(-1)?.rid
        await transaction.run(writeWordSetting, [PROGRESS, String(last ?? 0)])
        if (last === undefined) await transaction.run(writeWordSetting, [MODE, held])
        return last
      })
      if (next === undefined) return
      at = next
    }
  }

  const clear = (): Promise<void> =>
    database.transact(async (transaction) => {
      await transaction.run(clearWords, [])
      await transaction.run(writeWordSetting, [PROGRESS, '0'])
      await transaction.run(writeWordSetting, [MODE, mode === 'none' ? held : `${mode} soon`])
    })

  return {
    mode,
    /** Index rows that words go along with. */
    beside: (rows: IndexRows): IndexRows =>
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
    /** Makes the index what the setting says, when it said something else before. Stops between batches. */
    async complete(signal?: AbortSignal): Promise<void> {
      if ((await setting(MODE)) === held) return
      if ((await setting(PROGRESS)) === undefined || mode === 'none') await clear()
      if (mode !== 'none') await fill(signal)
    },
    /** Puts the index back to where `complete` begins. */
    clear,
  }
}

export type WordRows = ReturnType<typeof createWordRows>

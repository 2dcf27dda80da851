/**
 * Pulls the definitions of one type from one source, page by page. What is pulled is staged, and takes the place of the last pull
 * in one transaction when the last page is there; an interrupted pull goes on at the page where it was.
 */
import { createHash } from 'node:crypto'
import type { Database, Transaction } from '../../database/service.ts'
import { joinVersion } from '../canonical.ts'
import { readCodeSystem } from '../code-system.ts'
import { PullMalformed, PullRefused } from '../errors.ts'
import { inSlices } from '../in-slices.ts'
import { isLarge, mayBeLarge } from '../indexed/is-large.ts'
import type { ConceptBatches, LoadConcepts } from '../indexed/load-concepts.ts'
import { loadedConcepts } from '../indexed/loaded-concept.ts'
import { readNamed, type SystemRow } from '../indexed/tables.ts'
import { structureFault } from '../structure-fault.ts'
import { type FetchPage, shownUrl } from './fetch-page.ts'
import { createPageLimit } from './page-limit.ts'
import { type PageDefinition, readPage } from './read-page.ts'
import {
  deletePulled,
  deleteReplaced,
  deleteStaged,
  type PullRow,
  readPull,
  stageAgain,
  stageDefinition,
  useStaged,
  writePull,
} from './tables.ts'

export const PULLED_TYPES = ['CodeSystem', 'ValueSet', 'ConceptMap'] as const
export type PulledType = (typeof PULLED_TYPES)[number]

/** Resources of a page. Code systems are larger. */
const COUNTS: Readonly<Record<PulledType, number>> = { CodeSystem: 10, ValueSet: 50, ConceptMap: 50 }
const MAX_RESTARTS = 2 // of one run
/** The next pull asks for what was changed a moment before this one began, too: clocks of a source may differ. */
const MARGIN_MS = 60_000
const BATCH = 1_000 // concepts

export interface PullTypeParts {
  readonly database: Database
  readonly fetchPage: FetchPage
  readonly load: LoadConcepts
}

export interface PullTypeOptions {
  /** Base URL without a slash at its end. */
  readonly source: string
  readonly type: PulledType
  /** Everything, and not only what was changed since the last pull: what the source deleted is removed. */
  readonly isAll: boolean
  readonly signal: AbortSignal
  /** Called once where an interrupted pull is gone on with: the resources that are there already. */
  readonly resumed: (seen: number) => void
  /** Called for a definition that is malformed. What is in use of it stays. */
  readonly refused: (error: Error) => void
  readonly step: (step: { readonly done: number; readonly total: number }) => void
}

export interface StagedDefinition extends PageDefinition {
  /** Empty where its concepts are in the index; undefined where it is malformed. */
  readonly body: string | undefined
}

/** The name of a pulled code system in the index. */
export const nameOfPulled = (source: string, name: string): string => JSON.stringify([source, name])

export const createPullType = ({ database, fetchPage, load }: PullTypeParts) => {
  /** Puts a large code system into the index, unless this very state of it is there. */
  const toStaged = async (
    definition: PageDefinition,
    { source, type, signal, refused }: PullTypeOptions,
  ): Promise<StagedDefinition> => {
    const fault = await inSlices(structureFault(definition.resource))
    if (fault !== undefined) {
      refused(PullMalformed(type, joinVersion(definition.url, definition.version), source, fault))
      return { ...definition, body: undefined }
    }
    const body = JSON.stringify(definition.resource)
    if (type !== 'CodeSystem' || !mayBeLarge(body.length)) return { ...definition, body }
    const system = readCodeSystem(definition.resource)
    if (!isLarge(system.concepts.size)) return { ...definition, body }
    const name = nameOfPulled(source, definition.name)
    const edition = createHash('sha256').update(body).digest('hex')
    const rows = await database.all<SystemRow>(readNamed, ['pull', name])
    if (!rows.some((row) => row.state === 'ready' && row.edition === edition)) {
      const { concepts: _concepts, find: _find, ...header } = system
      const batches: ConceptBatches = async function* (from) {
        let number = 0
        for (const batch of loadedConcepts(system, BATCH)) {
          if (number >= from) yield batch
          number += 1
        }
      }
      await load({ source: 'pull', name, edition, header }, batches, { signal })
    }
    return { ...definition, body: '' }
  }
  const write = (transaction: Transaction, source: string, type: string, row: PullRow) =>
    transaction.run(writePull, [source, type, row.since, row.next, row.began, row.is_full, row.pages, row.seen])

  /** Starts a pull: deletes what an earlier one staged, and stores the URL of the first page. `since` is kept until the pull is complete. */
  const begin = async ({ source, type }: PullTypeOptions, since: string, isFull: boolean): Promise<PullRow> => {
    const first = new URL(`${source}/${type}`)
    first.searchParams.set('_count', String(COUNTS[type]))
    if (!isFull) first.searchParams.set('_lastUpdated', `gt${since}`)
    const row = { since, next: first.href, began: '', is_full: isFull ? 1 : 0, pages: 0, seen: 0 }
    await database.transact(async (transaction) => {
      await transaction.run(deleteStaged, [source, type])
      await write(transaction, source, type, row)
    })
    return row
  }
  /** The page is stored, and with the last one everything is put into use. */
  const store = (
    { source, type }: PullTypeOptions,
    definitions: readonly StagedDefinition[],
    row: PullRow,
  ): Promise<void> =>
    database.transact(
      async (transaction) => {
        for (const { name, url, version = null, status = null, body } of definitions) {
          if (body === undefined) {
            await transaction.run(stageAgain, [source, type, name])
            continue
          }
          const large = body === '' ? 1 : 0
          await transaction.run(stageDefinition, [source, type, name, url, version, status, large, body])
        }
        if (row.next !== '') return void (await write(transaction, source, type, row))
        if (row.is_full === 1) await transaction.run(deletePulled, [source, type])
        else await transaction.run(deleteReplaced, [source, type, source, type])
        await transaction.run(useStaged, [source, type])
        await write(transaction, source, type, { ...row, since: row.began, began: '' })
        transaction.publish({ about: 'terminology' })
      },
      { isLong: true },
    )

  /**
   * Resolves with the number of definitions when they are in use, without those that were refused. Throws `PullAway` and `PullRefused`; the last pull stays in use
   * then.
   */
  return async (options: PullTypeOptions): Promise<number> => {
    const { source, type, isAll, signal, resumed, step } = options
    const [known] = await database.all<PullRow>(readPull, [source, type])
    const isResumed = known !== undefined && known.next !== '' && (!isAll || known.is_full === 1)
    const since = known?.since ?? ''
    let row = isResumed ? known : await begin(options, since, isAll || since === '')
    if (isResumed && row.pages > 0) resumed(row.seen)
    let limit = createPageLimit()
    for (let restarts = 0; ; ) {
      signal.throwIfAborted()
      const url = new URL(row.next)
      const { status, text, time } = await fetchPage(url, signal)
      if (status !== 200) {
        const isFirst = row.pages === 0
        if ((isFirst && row.is_full === 1) || restarts === MAX_RESTARTS)
          throw PullRefused(shownUrl(url), `it answered ${status}`)
        restarts += 1
        limit = createPageLimit()
        // A page that is known no more; or the source does not search by _lastUpdated.
        row = await begin(options, since, isFirst || row.is_full === 1)
        continue
      }
      const page = readPage(text, type, url)
      const staged: StagedDefinition[] = []
      for (const definition of page.definitions) staged.push(await toStaged(definition, options))
      const seen = row.seen + staged.filter(({ body }) => body !== undefined).length
      // Where the source does not say its time, the next pull reads everything.
      const told = time === undefined ? '' : new Date(time - MARGIN_MS).toISOString()
      const began = row.pages === 0 ? told : row.began
      row = { ...row, seen, began, pages: row.pages + 1, next: page.next?.href ?? '' }
      const endless = row.next === '' ? undefined : limit(row.pages, staged)
      if (endless !== undefined) {
        // The next pull does not go on behind the last one of them.
        await begin(options, since, row.is_full === 1)
        throw PullRefused(shownUrl(url), endless)
      }
      await store(options, staged, row)
      step({ done: seen, total: row.next === '' ? seen : Math.max(seen, page.total ?? 0) })
      if (row.next === '') return seen
    }
  }
}

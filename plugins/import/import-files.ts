/** Imports files, and tries their records again as long as more of them have references that can be resolved. */
import type { Clock } from '../../kernel/index.ts'
import type { Database } from '../database/service.ts'
import type { Session } from '../fhir/service.ts'
import type { ImportSource } from './find-sources.ts'
import { type OpenSource, openSource, type SourceOutcome, type SourceParts } from './import-source.ts'
import { inParallel } from './in-parallel.ts'
import type { ImportListener, ImportOptions, ImportSummary } from './service.ts'
import { isRefusal } from './store-batch.ts'

export interface FilesParts extends Pick<SourceParts, 'transact' | 'fence' | 'batchRecords'> {
  readonly database: Pick<Database, 'get' | 'all'>
  readonly session: Pick<Session, 'change' | 'transaction'>
  readonly clock: Clock
  readonly listener: ImportListener
  /** Characters of records with unresolved references that are kept for another try; files with more are read again. */
  readonly keptChars?: number | undefined
  readonly note?: (source: ImportSource) => NonNullable<SourceParts['note']>
  /** Called when the work on a batch begins. */
  readonly resume?: () => void
  /** Awaited after each batch. */
  readonly pause?: () => Promise<void> | undefined
}

const KEPT_CHARS = 32 * 1024 * 1024

/** One try over some of the files. */
interface Try {
  readonly isFirst: boolean
  /** Records with unresolved references are refused, because no other try follows. */
  readonly isLast: boolean
}

type Options = Pick<ImportOptions, 'isDryRun' | 'isAgain' | 'parallel'>

/** What all tries of one import share. */
const createRun = (parts: FilesParts, { isDryRun, isAgain, parallel }: Options) => {
  const { database, session, clock, listener, transact, fence, batchRecords, note, pause, resume } = parts
  const outcomes = new Map<ImportSource, SourceOutcome>()
  let [done, total, count, room] = [0, 0, 0, 0]
  const takeRoom = (characters: number): boolean => {
    room -= characters
    return room >= 0
  }

  const partsFor = (source: ImportSource, isFirst: boolean): SourceParts => {
    const { name } = source
    const report = (): void => listener.progress?.({ done, total, resources: count, name })
    return {
      ...{ database, session, clock, isDryRun, transact, fence, batchRecords, takeRoom },
      note: note?.(source),
      isAgain: isAgain && isFirst,
      read(bytes) {
        done += bytes
        report()
      },
      stored(stored) {
        count += stored
        report()
      },
      resumed: (before) => isFirst && listener.resumed?.(name, before),
      refused: (record) => listener.refused?.(record),
    }
  }
  async function* jobsOf(
    sources: readonly ImportSource[],
    { isFirst, isLast }: Try,
    unreadable: Map<OpenSource, unknown>,
  ) {
    for (const source of sources) {
      const opened = await openSource(partsFor(source, isFirst), source, isLast, outcomes.get(source))
      const { outcome, jobs } = opened
      outcomes.set(source, outcome)
      if (outcome.finished !== undefined) {
        done += source.bytes
        listener.skipped?.(source.name, { finished: outcome.finished, failed: outcome.failed })
      }
      try {
        for await (const job of jobs())
          yield async () => {
            resume?.()
            await job()
            await pause?.()
          }
      } catch (error) {
        // One file that cannot be read does not keep the others from being imported.
        if (!isRefusal(error)) throw error
        unreadable.set(opened, error)
      }
    }
  }
  return {
    async attempt(sources: readonly ImportSource[], one: Try): Promise<void> {
      room = parts.keptChars ?? KEPT_CHARS
      const read = sources.filter((source) => outcomes.get(source)?.kept === undefined)
      total += read.reduce((all, { bytes }) => all + bytes, 0)
      const unreadable = new Map<OpenSource, unknown>()
      await inParallel(jobsOf(sources, one, unreadable), parallel)
      for (const [opened, error] of unreadable) await opened.refuse(error)
    },
    /** Files with records whose references are unresolved. */
    unresolved: (): readonly ImportSource[] =>
      [...outcomes].filter(([, { unresolved }]) => unresolved > 0).map(([source]) => source),
    sum(of: (outcome: SourceOutcome) => number): number {
      let all = 0
      for (const outcome of outcomes.values()) all += of(outcome)
      return all
    },
  }
}

export const importFiles = async (
  parts: FilesParts,
  sources: readonly ImportSource[],
  options: Options,
): Promise<ImportSummary> => {
  const run = createRun(parts, options)
  await run.attempt(sources, { isFirst: true, isLast: options.isDryRun })
  // Each further try stores records whose references have been resolved meanwhile.
  for (let before = Number.POSITIVE_INFINITY; ; ) {
    const left = run.sum(({ unresolved }) => unresolved)
    if (left === 0) break
    const isLast = left === before
    before = left
    if (!isLast) parts.listener.again?.(left)
    await run.attempt(run.unresolved(), { isFirst: false, isLast })
  }
  return {
    resources: run.sum(({ resources }) => resources),
    failed: run.sum(({ failed }) => failed),
    skipped: run.sum(({ finished }) => (finished === undefined ? 0 : 1)),
  }
}

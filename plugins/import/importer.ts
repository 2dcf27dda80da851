/** Creates the service `Importing`. */
import type { Clock } from '../../kernel/index.ts'
import type { Database } from '../database/service.ts'
import type { Resources } from '../fhir/service.ts'
import { findSources, type ImportSource } from './find-sources.ts'
import { openSource, type SourceOutcome, type SourceParts } from './import-source.ts'
import { inParallel } from './in-parallel.ts'
import type { Importing, ImportListener, ImportOptions } from './service.ts'

export interface ImporterParts {
  readonly database: Database
  readonly resources: Resources
  readonly clock: Clock
}

/** One try over some of the files. */
interface Try {
  readonly isFirst: boolean
  /** Records with unresolved references are refused, because no other try follows. */
  readonly isLast: boolean
}

/** What all tries of one import share. */
const createRun = (
  { database, resources, clock }: ImporterParts,
  { isDryRun, isAgain, parallel }: ImportOptions,
  listener: ImportListener,
) => {
  // Files of an export have the ids of their resources, whatever clients may do.
  const session = resources.as({ kind: 'internal', purpose: 'import', updateAsCreate: true })
  const outcomes = new Map<ImportSource, SourceOutcome>()
  let [done, total, count] = [0, 0, 0]

  const partsFor = ({ name }: ImportSource, isFirst: boolean): SourceParts => {
    const report = (): void => listener.progress?.({ done, total, resources: count, name })
    return {
      ...{ database, session, clock, isDryRun },
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
  async function* jobsOf(sources: readonly ImportSource[], { isFirst, isLast }: Try) {
    for (const source of sources) {
      const { outcome, jobs } = await openSource(partsFor(source, isFirst), source, isLast)
      outcomes.set(source, outcome)
      if (outcome.finished !== undefined) {
        done += source.bytes
        listener.skipped?.(source.name, outcome.finished)
      }
      yield* jobs()
    }
  }
  return {
    async attempt(sources: readonly ImportSource[], one: Try): Promise<void> {
      total += sources.reduce((all, { bytes }) => all + bytes, 0)
      await inParallel(jobsOf(sources, one), parallel)
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

export const createImporter = (parts: ImporterParts): Importing => ({
  async run(options, listener) {
    const sources = findSources(options.paths)
    const run = createRun(parts, options, listener)
    await run.attempt(sources, { isFirst: true, isLast: options.isDryRun })
    // Each further try reads the files again, and stores records whose references have been resolved meanwhile.
    for (let before = Number.POSITIVE_INFINITY; ; ) {
      const left = run.sum(({ unresolved }) => unresolved)
      if (left === 0) break
      const isLast = left === before
      before = left
      if (!isLast) listener.again?.(left)
      await run.attempt(run.unresolved(), { isFirst: false, isLast })
    }
    return {
      resources: run.sum(({ resources }) => resources),
      failed: run.sum(({ failed }) => failed),
      skipped: run.sum(({ finished }) => (finished === undefined ? 0 : 1)),
    }
  },
})

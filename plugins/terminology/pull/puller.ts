/** Pulls from all sources, one after the other: in the background of a start, and for `server terminology pull`. */
import { type Clock, isServerError, type Logger } from '../../../kernel/index.ts'
import type { Database } from '../../database/service.ts'
import { PullAway } from '../errors.ts'
import type { OpenIndex } from '../indexed/open-index.ts'
import { createFetchPage } from './fetch-page.ts'
import { createPullType, nameOfPulled, PULLED_TYPES } from './pull-type.ts'
import { createPulledDefinitions, type PulledDefinitions } from './pulled-definitions.ts'
import { readIndexedPulls, readPulledLarge } from './tables.ts'
import type { PullReport, PullSummary, TerminologyPull } from './terminology-pull.ts'

export interface PullerParts {
  /** Base URLs. */
  readonly urls: readonly string[]
  readonly database: Database
  readonly clock: Clock
  readonly index: Pick<OpenIndex, 'load' | 'end' | 'indexer'>
  /** Called when other definitions are in use. */
  readonly changed: () => void
  readonly log: Logger
}

export interface Puller extends TerminologyPull {
  readonly pulled: PulledDefinitions
  /** Starts what fills the index, and begins a pull and does not wait for it. */
  start(): Promise<void>
  stop(): Promise<void>
}

/** Malformed definitions of one type of a source that are named. */
const MAX_REPORTED = 20

export const createPuller = ({ urls, database, clock, index, changed, log }: PullerParts): Puller => {
  const fetchPage = createFetchPage({ fetch: globalThis.fetch, deadline: clock.deadline })
  const sources = [...new Set(urls.map((url) => new URL(url).href.replace(/\/+$/, '')))]
  const pullType = createPullType({ database, fetchPage, load: index.load })
  const stopping = new AbortController()
  const { signal } = stopping
  let isDeferred = false
  /** Ends when the last pull has. */
  let last: Promise<unknown> = Promise.resolve()

  /** Code systems that a source has no more, or that have become small, leave the index. */
  const settleIndex = async (): Promise<void> => {
    const rows = await database.all<{ source: string; name: string }>(readPulledLarge, [])
    const wanted = new Set(rows.map(({ source, name }) => nameOfPulled(source, name)))
    for (const { name } of await database.all<{ name: string }>(readIndexedPulls, []))
      if (!wanted.has(name)) await index.end('pull', name)
  }
  const pull = async (isAll: boolean, report: PullReport): Promise<PullSummary> => {
    let resources = 0
    let failed = 0
    for (const source of sources)
      for (const type of PULLED_TYPES) {
        const label = `${type} of ${source}`
        let refusals = 0
        try {
          resources += await pullType({
            ...{ source, type, isAll, signal },
            resumed: (seen) => report.resumed?.(label, seen),
            refused(error) {
              failed += 1
              refusals += 1
              if (refusals <= MAX_REPORTED) report.failed?.(error)
            },
            step: (step) => report.step?.({ ...step, label }),
          })
          if (type === 'CodeSystem') await settleIndex()
          changed()
        } catch (error) {
          if (signal.aborted) throw error
          failed += 1
          report.failed?.(error as Error)
          if (isServerError(error) && error.key === PullAway.key) break
        }
      }
    return { resources, failed }
  }
  const run: TerminologyPull['run'] = ({ isAll }, report = {}) => {
    const made = last.then(() => {
      signal.throwIfAborted()
      return pull(isAll, report)
    })
    last = made.catch(() => undefined)
    return made
  }
  const begin = async (): Promise<void> => {
    try {
      const failed = (error: Error): void => log.warn({ err: error }, 'terminology was not pulled; the last pull stays')
      const summary = await run({ isAll: false }, { failed })
      log.info(summary, 'terminology was pulled')
    } catch (error) {
      if (!signal.aborted) log.warn({ err: error }, 'terminology was not pulled; the last pull stays')
    }
  }
  return {
    pulled: createPulledDefinitions(database),
    run,
    defer() {
      isDeferred = true
    },
    async start() {
      await index.indexer.start()
      if (!isDeferred && sources.length > 0) begin()
    },
    async stop() {
      stopping.abort()
      await last
      await index.indexer.stop()
    },
  }
}

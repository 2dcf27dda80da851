/**
 * Delivers each change to the live queries that it concerns: judged on the version before and on the one after, in the
 * order of commits, after the answers of the COMMIT and a little at a time. It listens to the source only while there
 * are live queries, and ten minutes longer, so that a client may come back; and for ten minutes from the start of a
 * server, as clients of another one may come.
 */
import type { Logger } from '../../kernel/index.ts'
import type { SessionReads } from '../fhir/service.ts'
import { createChangeQueue } from './change-queue.ts'
import type { Change, ChangeSource, Listening } from './change-source.ts'
import { createDeliverChange } from './deliver-change.ts'
import { createFiledQueries } from './filed-queries.ts'
import type { PatientsOf } from './judged-change.ts'
import { createMissedChanges, type MissedChanges } from './missed-changes.ts'
import type { Place } from './place.ts'
import type { Receiver, ResetReason } from './receiver.ts'
import type { SharedQuery } from './shared-query.ts'

const MAX_WAITING = 100_000 // changes; more of them are a gap
const LISTENS_ON_MS = 600_000

/** A live query that is searched again, because no test of a single resource decides it. */
export interface Asker {
  markStale(): void
  /** Once a second. `now` is monotonic. */
  tick(now: number): void
  reset(reason: ResetReason): void
}

export interface ChangeHub {
  /** Begins to listen, without a live query. */
  listen(): void
  /** All changes up to this one were delivered to their queries. Undefined before `settled` has resolved once. */
  readonly processed: Place | undefined
  /** Resolves when all changes that a search has shown before this call were delivered. Rejects with 5xx. */
  settled(): Promise<void>
  /** Returns the query to `unfile`: the one of the same scope that was filed first, or the given one. */
  file(query: SharedQuery, receiver: Receiver): SharedQuery
  unfile(query: SharedQuery, receiver: Receiver): void
  /** Marks the query as stale after any change. */
  watch(asker: Asker): () => void
  readonly missed: MissedChanges['behind']
  /** Queries without a key, and those that are searched again. */
  readonly costly: { readonly listed: number; readonly asked: number }
  /**
   * Once a second: ends queries whose meaning has changed, lets others search again, and ends listening that nobody needs.
   * `now` is monotonic.
   */
  tick(now: number): void
  stop(): void
}

export interface ChangeHubParts {
  readonly source: ChangeSource
  readonly subject: SessionReads['subject']
  readonly patientsOf: PatientsOf
  /** Lets what writes a version of these types hand on what `subject` would make again. Call the returned function to end it. */
  readonly keepRows: (wants: (type: string) => boolean) => () => void
  readonly log: Logger
}

export const createChangeHub = ({ source, subject, patientsOf, keepRows, log }: ChangeHubParts): ChangeHub => {
  const filed = createFiledQueries()
  const askers = new Set<Asker>()
  const missed = createMissedChanges()
  let listening: Listening | undefined
  let release: (() => void) | undefined
  let unusedSince: number | undefined
  const resetAll = (reason: ResetReason): void => {
    for (const one of filed.receivers()) one.reset(reason)
    for (const one of [...askers]) one.reset(reason)
  }
  const forget = (): void => {
    missed.clear()
    listening?.stop()
    listening = undefined
    release?.()
    release = undefined
    queue.clear()
  }
  const deliver = createDeliverChange(filed, subject, patientsOf)
  const judge = ({ type, versions, place }: Change): void => {
    for (const one of askers) one.markStale()
    // `versions` is undefined where no query wanted the type; pages of a query that began since were read after the change.
    if (versions !== undefined && filed.has(type)) deliver(versions, place)
  }
  const queue = createChangeQueue((change) => {
    try {
      judge(change)
    } catch (error) {
      log.error({ err: error, type: change.type }, 'a change could not be matched; live queries are reset')
      resetAll('gap')
    }
  })
  const listen = (): Listening => {
    unusedSince = undefined
    if (listening !== undefined) return listening
    release = keepRows(filed.has)
    listening = source.listen({
      wants: filed.has,
      heard: missed.add,
      changed(changes) {
        if (queue.length <= MAX_WAITING) return queue.push(changes)
        resetAll('gap')
        forget()
      },
      gap() {
        resetAll('gap')
        forget()
      },
    })
    missed.begin(listening)
    return listening
  }

  return {
    listen: () => void listen(),
    get processed() {
      return queue.processed ?? listening?.start
    },
    async settled() {
      await listen().settled()
      await queue.settled()
    },
    file(query, receiver) {
      listen()
      return filed.add(query, receiver)
    },
    unfile: filed.remove,
    watch(asker) {
      listen()
      askers.add(asker)
      return () => void askers.delete(asker)
    },
    missed(place, type) {
      listen()
      return missed.behind(place, type)
    },
    get costly() {
      return { listed: filed.listed, asked: askers.size }
    },
    tick(now) {
      for (const one of filed.outdated()) one.reset('meaning')
      for (const one of [...askers]) one.tick(now)
      if (filed.size > 0 || askers.size > 0 || listening === undefined) {
        unusedSince = undefined
        return
      }
      unusedSince ??= now
      if (now - unusedSince >= LISTENS_ON_MS) forget()
    },
    stop: forget,
  }
}

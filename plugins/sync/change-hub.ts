/**
 * Gives each change to the live queries that it concerns: judged on the version before and on the one after, in the
 * order of commits, behind the answers of the COMMIT and a little at a time. It listens to the source only while there
 * are live queries, and ten minutes longer, so that a client may come back.
 */
import type { Logger } from '../../kernel/index.ts'
import type { Matcher, MatchSubject, SessionReads } from '../fhir/service.ts'
import { createChangeQueue } from './change-queue.ts'
import type { Change, ChangeSource, Listening } from './change-source.ts'
import { createFiledQueries } from './filed-queries.ts'
import { type PatientsOf, type Told, tell } from './judged-change.ts'
import { createRecentChanges, type RecentChange } from './recent-changes.ts'

const MAX_WAITING = 100_000 // changes; more of them are a gap
const LISTENS_ON_MS = 600_000

export type ResetReason = 'gap' | 'slow' | 'access' | 'meaning'

/** A live query of one connection, as the hub sees it. */
export interface Receiver {
  deliver(told: Told, seq: number, wasIn: boolean, isIn: boolean): void
  reset(reason: ResetReason): void
}

/** A live query that is asked again, because no test of a single resource decides it. */
export interface Asker {
  markStale(): void
  reset(reason: ResetReason): void
}

/** A compiled query and all who share it. */
export interface Shared {
  readonly matcher: Matcher
  readonly receivers: Set<Receiver>
}

export interface ChangeHub {
  readonly epoch: string
  /** All changes up to this one were given to their queries. */
  readonly processed: number
  /** Resolves when all changes that are known now were given to their queries. */
  settled(): Promise<void>
  /** `scope` names query and ruling: receivers with the same one share what was compiled first. */
  file(scope: string, matcher: Matcher, receiver: Receiver): () => void
  /** Asked again after any change. */
  watch(asker: Asker): () => void
  /** First changes behind a position; undefined where some are not known. */
  missed(seq: number, type: string): readonly RecentChange[] | undefined
  /** Queries without a key, and those that are asked again. */
  readonly costly: { readonly listed: number; readonly asked: number }
  /** Once a second: ends queries whose meaning has changed, and listening that nobody needs. `now` is monotonic. */
  tick(now: number): void
  stop(): void
}

export interface ChangeHubParts {
  readonly source: ChangeSource
  readonly subject: SessionReads['subject']
  readonly patientsOf: PatientsOf
  readonly log: Logger
}

export const createChangeHub = ({ source, subject, patientsOf, log }: ChangeHubParts): ChangeHub => {
  const filed = createFiledQueries<Shared>()
  const shared = new Map<string, Shared>()
  const askers = new Set<Asker>()
  const recent = createRecentChanges()
  let listening: Listening | undefined
  let unusedSince: number | undefined
  const resetAll = (reason: ResetReason): void => {
    for (const { receivers } of [...shared.values()]) for (const one of [...receivers]) one.reset(reason)
    for (const one of [...askers]) one.reset(reason)
  }
  const forget = (): void => {
    recent.clear()
    listening?.stop()
    listening = undefined
    queue.clear()
  }
  const sweep = (): void => {
    for (const { matcher, receivers } of [...shared.values()])
      if (!matcher.isCurrent) for (const one of [...receivers]) one.reset('meaning')
  }
  const subjectOf = (version: Change['next'] | undefined, resource?: Change['resource']): MatchSubject | undefined =>
    version?.json === undefined ? undefined : subject(version, resource ?? JSON.parse(version.json))

  const judge = (change: Change): void => {
    const { previous, next, resource, seq } = change
    for (const one of askers) one.markStale()
    if (!filed.has(next.type)) return
    const before = subjectOf(previous)
    const after = subjectOf(next, resource)
    let told: Told | undefined
    for (const { matcher, receivers } of filed.find(next.type, before?.keys, after?.keys)) {
      if (!matcher.isCurrent) {
        for (const one of [...receivers]) one.reset('meaning')
        continue
      }
      const wasIn = before !== undefined && matcher.test(before)
      const isIn = after !== undefined && matcher.test(after)
      if (!wasIn && !isIn) continue
      told ??= tell(
        next,
        () => next.json,
        () => patientsOf(change),
      )
      for (const one of [...receivers]) one.deliver(told, seq, wasIn, isIn)
    }
  }
  const queue = createChangeQueue((change) => {
    try {
      judge(change)
    } catch (error) {
      log.error({ err: error, type: change.next.type }, 'a change could not be matched; live queries begin anew')
      resetAll('gap')
    }
  })
  const listen = (): Listening => {
    unusedSince = undefined
    listening ??= source.listen({
      changed(changes) {
        if (queue.length > MAX_WAITING) {
          resetAll('gap')
          forget()
          return
        }
        recent.add(changes)
        queue.push(changes)
      },
      gap() {
        resetAll('gap')
        forget()
      },
    })
    return listening
  }

  return {
    get epoch() {
      return listen().epoch
    },
    get processed() {
      return queue.processed
    },
    settled: () => queue.reached(listen().seq),
    file(scope, matcher, receiver) {
      listen()
      let one = shared.get(scope)
      if (one === undefined || !one.matcher.isCurrent) {
        one = { matcher, receivers: new Set() }
        shared.set(scope, one)
        filed.add(one)
      }
      const own = one
      own.receivers.add(receiver)
      return () => {
        if (!own.receivers.delete(receiver) || own.receivers.size > 0) return
        filed.remove(own)
        if (shared.get(scope) === own) shared.delete(scope)
      }
    },
    watch(asker) {
      listen()
      askers.add(asker)
      return () => void askers.delete(asker)
    },
    missed: (seq, type) => (listening === undefined || seq > listening.seq ? undefined : recent.since(seq, type)),
    get costly() {
      return { listed: filed.listed, asked: askers.size }
    },
    tick(now) {
      sweep()
      if (shared.size > 0 || askers.size > 0 || listening === undefined) {
        unusedSince = undefined
        return
      }
      unusedSince ??= now
      if (now - unusedSince >= LISTENS_ON_MS) forget()
    },
    stop: forget,
  }
}

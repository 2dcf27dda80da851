/**
 * The write path. Every change of a resource, single or in a Bundle, is applied here inside a transaction. The hooks onWrite
 * and onAudit are called in the transaction, and onCommit after COMMIT, in the order of commits.
 */
import type { Committed, RequestContext, Runners } from '../../kernel/index.ts'
import { chain, type MaybePromise, type ResourceChange, type Transaction } from '../database/service.ts'
import { createApplyChange } from './apply-change.ts'
import type { Changed, CurrentChange } from './change.ts'
import type { ChangeObserver } from './change-observer.ts'
import { createConfirmation } from './confirmation.ts'
import { createErasePast } from './erase-past.ts'
import type { LargeVersions } from './large-versions.ts'
import { createNotifyChanges } from './notify-changes.ts'
import type { IssuesOf } from './throw-first.ts'
import type { StoredVersion } from './version.ts'
import type { VersionStore } from './version-store.ts'
import type { WriteCheck } from './write-check.ts'

export interface WriterParts {
  readonly store: VersionStore
  /** Checks of other plugins. */
  readonly checks: readonly WriteCheck[]
  readonly run: Runners
  readonly observer: ChangeObserver
  readonly large: LargeVersions
}

const toPublication = ({ type, id, rid, version, versionTime, deleted }: StoredVersion): ResourceChange => ({
  type,
  id,
  rid,
  version,
  stamp: versionTime,
  deleted,
})

export const createWritePath = ({ store, run, observer, checks, large }: WriterParts) => {
  const confirmation = createConfirmation(checks, observer)
  const notifyAll = createNotifyChanges(run, observer)

  /** The promise that an answer must wait for after COMMIT, by the first change of its transaction. */
  const waits = new WeakMap<Changed, Promise<void>>()
  /** Must be called in the order of commits, because caches must not get an earlier version after a later one. */
  const notifyCommitted = (request: RequestContext, changes: readonly Changed[]): void => {
    const written = changes.filter((changed) => changed.written)
    const versions = written.map(({ version }) => version)
    store.committed(versions)
    observer.committed(versions)
    const later = confirmation.afterCommit(written)
    if (later !== undefined) waits.set(changes[0] as Changed, later)
    if (run.onCommit === null || written.length === 0) return
    const committed: Committed = {
      request,
      changes: written.map(({ interaction, version, previous, resource }) => ({
        interaction,
        previous: previous?.deleted === false ? previous.toFact() : undefined,
        next: version.toFact(),
        resource,
      })),
    }
    run.onCommit(committed)
  }

  return {
    /** Applies one change. Throws 4xx; the caller must then roll back the transaction. */
    apply: createApplyChange(store, observer, large),
    erasePast: createErasePast(store, observer),
    /** Runs the checks without the hooks. Throws 4xx. */
    confirm: confirmation.confirm,
    /** To be called when all changes of a transaction were applied: runs the checks, then the hooks. Throws 4xx. */
    complete(
      request: RequestContext,
      transaction: Transaction,
      changes: readonly Changed[],
      issuesOf: IssuesOf,
      progress?: CurrentChange,
    ): MaybePromise<void> {
      // Errors of checks name their entries themselves.
      if (progress !== undefined) progress.interaction = undefined
      transaction.afterCommit(() => notifyCommitted(request, changes))
      for (const { written, version } of changes) if (written) transaction.publish(toPublication(version))
      return chain(confirmation.confirm(request, transaction, changes, issuesOf, progress), () =>
        notifyAll(request, transaction, changes, progress),
      )
    },
    /** To be called when `transact` has resolved. Returns a promise if the answer must wait for a check's `afterCommit`. */
    committed: (changes: readonly Changed[]): Promise<void> | undefined =>
      changes[0] === undefined ? undefined : waits.get(changes[0]),
  }
}

export type WritePath = ReturnType<typeof createWritePath>

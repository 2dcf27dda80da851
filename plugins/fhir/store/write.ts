/**
 * The one write path. Every change of a resource, single or in a Bundle, goes through `write` inside a transaction;
 * hooks see it there, and `onCommit` after COMMIT returned.
 */
import {
  type AuditFact,
  type Committed,
  type FactDetails,
  type RequestContext,
  type Runners,
  toIssues,
  type Write,
} from '../../../kernel/index.ts'
import { andThen, type Eventually, type Transaction } from '../../database/service.ts'
import { issuesOfEntry } from '../bundle/entry-error.ts'
import { Deleted, NotFound, UpdateAsCreateOff } from '../errors.ts'
import type { Patients } from '../patients.ts'
import type { IndexRows } from '../search/index-rows.ts'
import type { RefusedChange, WriteCheck } from '../service.ts'
import type { Change, Changed, Content, Progress } from './change.ts'
import { checkPrecondition } from './check-precondition.ts'
import { absent, flagsOf, nextVersion } from './next-version.ts'
import type { Store } from './store.ts'
import { archiveCurrent, insertResource, updateResource } from './tables.ts'
import type { StoredVersion } from './version.ts'

export interface WriterParts {
  readonly store: Store
  /** Checks of other plugins. */
  readonly checks: readonly WriteCheck[]
  readonly run: Runners
  /** [conformance] update_as_create */
  readonly updateAsCreate: boolean
  readonly index: IndexRows
  readonly patients: Patients
}

const chain = (before: Promise<void> | undefined, next: () => Eventually<void>): Promise<void> | undefined => {
  if (before !== undefined) return before.then(next)
  const made = next()
  return made instanceof Promise ? made : undefined
}

/** Is one of the changes of the type that a check is for? */
const concerns = ({ type }: WriteCheck, changes: readonly Changed[]): boolean =>
  type === undefined || changes.some(({ version }) => version.type === type)

export const createWrite = ({ store, run, updateAsCreate, index, checks, patients }: WriterParts) => {
  const { types } = store
  const followers = checks.filter((check) => check.committed !== undefined)

  const save = (transaction: Transaction, change: Change, next: StoredVersion, isNew: boolean): Eventually<void> => {
    const flags = flagsOf(change, next.form)
    const body = next.deleted ? null : next.bytes
    if (isNew) {
      const code = types.code(next.type) ?? 0
      return transaction.run(insertResource, [next.rid, code, next.id, next.version, next.stamp, flags, body])
    }
    return andThen(transaction.run(archiveCurrent, [next.rid]), () =>
      transaction.run(updateResource, [next.version, next.stamp, flags, body, next.rid]),
    )
  }

  const tellWrite = (request: RequestContext, transaction: Transaction, changed: Changed): Eventually<void> => {
    if (run.onWrite === null || !changed.written) return undefined
    const { interaction, version, previous, resource } = changed
    const write: Write = {
      request,
      interaction,
      previous: previous?.deleted === false ? previous.toFact() : undefined,
      next: version.toFact(),
      resource,
      transaction,
    }
    return run.onWrite(write)
  }

  const tellAudit = (request: RequestContext, transaction: Transaction, changed: Changed): Eventually<void> => {
    if (run.onAudit === null) return undefined
    const { interaction, version, previous, resource, created } = changed
    const status = version.deleted ? 204 : created ? 201 : 200
    const { type, id } = version
    const details: FactDetails = {
      patients: () =>
        resource === undefined
          ? patients.ofVersion(version.deleted && previous !== undefined ? previous : version)
          : patients.ofResource(type, id, resource),
    }
    const fact: AuditFact = { request, interaction, status, version: version.version, details, transaction }
    return run.onAudit(fact)
  }

  const tell = (request: RequestContext, transaction: Transaction, changed: Changed): Eventually<void> =>
    andThen(tellWrite(request, transaction, changed), () => tellAudit(request, transaction, changed))

  /** What is to be stored; undefined for a deletion. Throws 404, 405, 410 where there is nothing to change. */
  const contentOf = (change: Change, previous: StoredVersion | undefined): Content | undefined => {
    if (change.kind === 'delete') return undefined
    const { type, id } = change
    if (change.kind !== 'revise') {
      const creates = previous === undefined || previous.deleted
      if (change.kind === 'update' && creates && !updateAsCreate) throw UpdateAsCreateOff(type, id, type)
      return change
    }
    if (previous === undefined) throw NotFound(type, id)
    if (previous.deleted) throw Deleted(type, id)
    return previous.version === change.base.version ? change.content : change.redo(previous)
  }

  const applyTo = (
    transaction: Transaction,
    change: Change,
    previous: StoredVersion | undefined,
    isRehearsal: boolean,
  ): Eventually<Changed> => {
    const { interaction, type, id } = change
    checkPrecondition(change, previous)
    const created = previous === undefined || previous.deleted
    if (change.kind === 'delete' && created) {
      change.permit.check(id, previous, undefined)
      return {
        interaction,
        version: previous ?? absent(type, id),
        previous,
        resource: undefined,
        created: false,
        written: false,
      }
    }
    const content = contentOf(change, previous)
    change.permit.check(id, previous, content?.resource)
    if (change.kind === 'revise' && content === undefined && previous !== undefined)
      return { interaction, version: previous, previous, resource: undefined, created, written: false }
    const version = nextVersion(store, change, content, previous)
    const changed: Changed = { interaction, version, previous, resource: content?.resource, created, written: true }
    return andThen(save(transaction, change, version, previous === undefined), () =>
      isRehearsal ? changed : andThen(index.write(transaction, version, content?.resource, previous), () => changed),
    )
  }

  /** `isRehearsal`: it will be undone, so its rows of the index are left out. */
  const apply = (transaction: Transaction, change: Change, isRehearsal = false): Eventually<Changed> => {
    const { type, id, kind } = change
    // A create has an id nobody else can know: there is nothing to look for.
    if (kind === 'create') return applyTo(transaction, change, undefined, isRehearsal)
    return store
      .lock(transaction, type, id, kind === 'delete')
      .then((previous) => applyTo(transaction, change, previous, isRehearsal))
  }

  const throwFirst = (refusals: readonly RefusedChange[] | undefined, progress: Progress | undefined): void => {
    const first = refusals?.[0]
    if (refusals === undefined || first === undefined) return
    const issues = refusals.flatMap(({ interaction: { entry }, error }) =>
      entry === undefined ? toIssues(error) : issuesOfEntry(error, entry),
    )
    if (progress !== undefined) progress.interaction = first.interaction
    throw first.error.with({ issues })
  }

  /** Asks the checks about all changes at once: what one of them makes may be what another needs. `from` the first of them on. */
  const confirm = (
    request: RequestContext,
    transaction: Transaction,
    changes: readonly Changed[],
    progress?: Progress,
    from = 0,
  ): Eventually<void> => {
    for (let at = from; at < checks.length; at += 1) {
      const check = checks[at] as WriteCheck
      if (!concerns(check, changes)) continue
      const asked = check.confirm?.(request, transaction, changes)
      if (asked instanceof Promise)
        return asked.then((refusals) => {
          throwFirst(refusals, progress)
          return confirm(request, transaction, changes, progress, at + 1)
        })
      throwFirst(asked, progress)
    }
  }

  /** Tells the hooks of each change, `from` one of them on. */
  const tellAll = (
    request: RequestContext,
    transaction: Transaction,
    changes: readonly Changed[],
    progress: Progress | undefined,
    from = 0,
  ): Eventually<void> => {
    if (run.onWrite === null && run.onAudit === null) return
    for (let at = from; at < changes.length; at += 1) {
      const changed = changes[at] as Changed
      if (progress !== undefined) progress.interaction = changed.interaction
      const told = tell(request, transaction, changed)
      if (told instanceof Promise) return told.then(() => tellAll(request, transaction, changes, progress, at + 1))
    }
    if (progress !== undefined) progress.interaction = undefined
  }

  return {
    /** Applies one change; throws 4xx and leaves the transaction to be undone. */
    apply,
    /** Asks the checks only: nobody is told. Throws 4xx. */
    confirm,
    /** Once the changes of a transaction are made: checks, then hooks. Throws 4xx. */
    settle(
      request: RequestContext,
      transaction: Transaction,
      changes: readonly Changed[],
      progress?: Progress,
    ): Eventually<void> {
      // Refusals of a check name their entries themselves.
      if (progress !== undefined) progress.interaction = undefined
      return andThen(confirm(request, transaction, changes, progress), () =>
        tellAll(request, transaction, changes, progress),
      )
    },
    /** After COMMIT returned. A promise when the answer has to wait for something. */
    committed(request: RequestContext, changes: readonly Changed[]): Promise<void> | undefined {
      const written = changes.filter((changed) => changed.written)
      const versions = written.map(({ version }) => version)
      store.committed(versions)
      index.committed(versions)
      let later: Promise<void> | undefined
      for (const check of followers)
        if (concerns(check, written)) later = chain(later, () => check.committed?.(written))
      if (run.onCommit === null || written.length === 0) return later
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
      return later
    },
  }
}

export type WritePath = ReturnType<typeof createWrite>

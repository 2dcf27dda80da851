/**
 * The write path. Every change of a resource, single or in a Bundle, is applied here inside a transaction. The hooks onWrite
 * and onAudit are called in the transaction, and onCommit after COMMIT, in the order of commits.
 */
import {
  type AuditFact,
  type Committed,
  createPause,
  type FactDetails,
  type RequestContext,
  type Runners,
  type Write,
} from '../../kernel/index.ts'
import { chain, type MaybePromise, type Transaction } from '../database/service.ts'
import type { Change, Changed, CurrentChange, NewContent } from './change.ts'
import type { ChangeObserver } from './change-observer.ts'
import { Deleted, NotFound, UpdateAsCreateOff } from './errors.ts'
import { type Findings, findingsOf } from './findings.ts'
import { isUnchanged } from './is-unchanged.ts'
import type { LargeVersions } from './large-versions.ts'
import { absentVersion, nextVersion, versionFlags } from './next-version.ts'
import { patientsFound } from './patients-found.ts'
import { checkPrecondition } from './precondition.ts'
import { toRestrictedChange } from './restricted-change.ts'
import { StaleFindings } from './stale-findings.ts'
import { archiveCurrent, insertResource, updateResource } from './tables.ts'
import { type IssuesOf, throwFirst } from './throw-first.ts'
import type { StoredVersion } from './version.ts'
import type { VersionStore } from './version-store.ts'
import type { WriteCheck } from './write-check.ts'

/** The methods that remain for the address of a missing resource; a 405 must list them. RFC 9110, section 15.5.6. */
const NOTHING_THERE = { headers: { allow: 'GET, HEAD, DELETE' } }

export interface WriterParts {
  readonly store: VersionStore
  /** Checks of other plugins. */
  readonly checks: readonly WriteCheck[]
  readonly run: Runners
  readonly observer: ChangeObserver
  readonly large: LargeVersions
}

const runAfter = (before: Promise<void> | undefined, next: () => MaybePromise<void>): Promise<void> | undefined => {
  if (before !== undefined) return before.then(next)
  const made = next()
  return made instanceof Promise ? made : undefined
}

/** Whether a change has the type that the check is for. */
const concerns = ({ type }: WriteCheck, changes: readonly Changed[]): boolean =>
  type === undefined || changes.some(({ version }) => version.type === type)

export const createWritePath = ({ store, run, observer, checks, large }: WriterParts) => {
  const { types } = store
  const followers = checks.filter((check) => check.afterCommit !== undefined)

  const save = (transaction: Transaction, change: Change, next: StoredVersion, isNew: boolean): MaybePromise<void> => {
    const flags = versionFlags(change, next.encoding)
    const body = next.deleted ? null : next.bytes
    if (isNew) {
      const code = types.code(next.type) ?? 0
      return transaction.run(insertResource, [next.rid, code, next.id, next.version, next.versionTime, flags, body])
    }
    return chain(transaction.run(archiveCurrent, [next.rid]), () =>
      transaction.run(updateResource, [next.version, next.versionTime, flags, body, next.rid]),
    )
  }

  const tellWrite = (request: RequestContext, transaction: Transaction, changed: Changed): MaybePromise<void> => {
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

  const tellAudit = (request: RequestContext, transaction: Transaction, changed: Changed): MaybePromise<void> => {
    if (run.onAudit === null) return undefined
    const { interaction, version, created } = changed
    const status = version.deleted ? 204 : created ? 201 : 200
    const details: FactDetails = { patients: () => observer.patients(changed, request.ownUrl) }
    const fact: AuditFact = { request, interaction, status, version: version.version, details, transaction }
    return run.onAudit(fact)
  }

  const tell = (request: RequestContext, transaction: Transaction, changed: Changed): MaybePromise<void> =>
    chain(tellWrite(request, transaction, changed), () => tellAudit(request, transaction, changed))

  /** The content to store; undefined if the change deletes or changes nothing. Throws 404, 405 or 410 if no resource is there. */
  const contentOf = (change: Change, previous: StoredVersion | undefined): NewContent | undefined => {
    if (change.kind === 'delete') return undefined
    const { type, id } = change
    if (change.kind !== 'modify') {
      const creates = previous === undefined || previous.deleted
      if (change.kind === 'update' && creates && !change.mayCreate)
        throw UpdateAsCreateOff(type, id, type).with(NOTHING_THERE)
      if (change.kind === 'update' && !creates) change.checkReplaced?.(previous)
      return change
    }
    if (previous === undefined) throw NotFound(type, id)
    if (previous.deleted) throw Deleted(type, id)
    return previous.version === change.base.version ? change.content : change.rebase(previous)
  }

  /** Throws Contended, so that the change is prepared again, if findings are about another version, or missing for a large one. */
  const checkFindings = (
    findings: Findings | undefined,
    { type, id }: Change,
    previous: StoredVersion | undefined,
  ): void => {
    const replaced = previous === undefined || previous.deleted ? undefined : previous
    const isKnown =
      findings === undefined ? !large.concernsVersion(replaced) : findings.before?.version === replaced?.version
    if (isKnown) return
    large.note(type, id)
    throw StaleFindings()
  }

  const applyTo = (
    transaction: Transaction,
    change: Change,
    previous: StoredVersion | undefined,
    isRehearsal: boolean,
  ): MaybePromise<Changed> => {
    const { interaction, type, id, guard } = change
    checkPrecondition(change, previous)
    const created = previous === undefined || previous.deleted
    const unwritten = (version: StoredVersion, patients?: readonly string[]): Changed => ({
      interaction,
      version,
      previous,
      resource: undefined,
      created,
      written: false,
      patients,
    })
    if (change.kind === 'delete' && created)
      return { ...unwritten(previous ?? absentVersion(type, id)), created: false }
    const content = contentOf(change, previous)
    if (content !== undefined) guard.content(id, content.resource)
    const findings = change.findings ?? findingsOf(content?.resource)
    const takesFindings = change.kind === 'delete' || content !== undefined
    if (takesFindings && !isRehearsal) checkFindings(findings, change, previous)
    // A caller who may not read the resource must not learn from an unchanged version number that it guessed the content.
    const mayCompare = (current: StoredVersion): boolean => content === undefined || guard.reads(current)
    if (change.kind !== 'delete' && previous !== undefined && !created && mayCompare(previous))
      if (isUnchanged(previous, content, findings))
        return unwritten(previous, patientsFound(change, findings, previous))
    return chain(previous?.rid ?? store.nextResourceKey(), (rid) => {
      const version = nextVersion(store, rid, change, content, previous)
      const restricted = guard.restricts ? toRestrictedChange(guard, previous, findings) : undefined
      const resource = content?.resource
      const changed: Changed = {
        interaction,
        version,
        previous,
        resource,
        created,
        written: true,
        patients: patientsFound(change, findings, previous),
        restricted,
      }
      return chain(save(transaction, change, version, previous === undefined), () =>
        isRehearsal
          ? changed
          : chain(observer.write(transaction, version, resource, previous, findings), () => changed),
      )
    })
  }

  /** Calls the guard. Throws Contended if a worker thread must first extract the data by which access is decided. */
  const askGuard = (
    transaction: Transaction,
    change: Change,
    previous: StoredVersion | undefined,
    isRehearsal: boolean,
  ): MaybePromise<void> => {
    const { guard, id } = change
    const content = change.kind === 'delete' ? undefined : change.kind === 'modify' ? change.content : change
    const findings = change.findings ?? findingsOf(content?.resource)
    // Findings about another version are ignored: Contended would reveal that the resource exists before the guard decides.
    const isUnknown = findings === undefined && (change.kind === 'delete' || content !== undefined)
    if (isUnknown && !isRehearsal) checkFindings(findings, change, previous)
    return guard.target(id, previous, store.within(transaction), findings)
  }

  /** `isRehearsal`: the transaction will be rolled back, so no index entries are written. */
  const apply = (transaction: Transaction, change: Change, isRehearsal = false): MaybePromise<Changed> => {
    const { type, id, kind } = change
    // The id of a create is new, so there is no version to lock.
    if (kind === 'create') return applyTo(transaction, change, undefined, isRehearsal)
    return store.lock(transaction, type, id, kind === 'delete').then((previous) => {
      // The guard comes first, because later errors reveal whether the resource exists, and preconditions its version.
      const { guard } = change
      const allowed = guard.restricts ? askGuard(transaction, change, previous, isRehearsal) : undefined
      return chain(allowed, () => applyTo(transaction, change, previous, isRehearsal))
    })
  }

  /** Runs the checks, from index `from`, each with all changes: one may create the resource that another one refers to. */
  const confirm = (
    request: RequestContext,
    transaction: Transaction,
    changes: readonly Changed[],
    issuesOf: IssuesOf,
    progress?: CurrentChange,
    from = 0,
  ): MaybePromise<void> => {
    for (let at = from; at < checks.length; at += 1) {
      const check = checks[at] as WriteCheck
      if (!concerns(check, changes)) continue
      const asked = check.checkInTransaction?.(request, transaction, changes)
      if (asked instanceof Promise)
        return asked.then((refusals) => {
          throwFirst(refusals, issuesOf, progress)
          return confirm(request, transaction, changes, issuesOf, progress, at + 1)
        })
      throwFirst(asked, issuesOf, progress)
    }
  }

  /** Calls the hooks for each change. `from`: index of the first change. */
  const tellAll = (
    request: RequestContext,
    transaction: Transaction,
    changes: readonly Changed[],
    progress: CurrentChange | undefined,
    pause = createPause(),
    from = 0,
  ): MaybePromise<void> => {
    if (run.onWrite === null && run.onAudit === null) return
    for (let at = from; at < changes.length; at += 1) {
      const changed = changes[at] as Changed
      if (progress !== undefined) progress.interaction = changed.interaction
      const told = tell(request, transaction, changed) ?? (changes.length > 1 ? pause() : undefined)
      if (told instanceof Promise)
        return told.then(() => tellAll(request, transaction, changes, progress, pause, at + 1))
    }
    if (progress !== undefined) progress.interaction = undefined
  }

  /** The promise that an answer must wait for after COMMIT, by the first change of its transaction. */
  const waits = new WeakMap<Changed, Promise<void>>()
  /** Must be called in the order of commits, because caches must not get an earlier version after a later one. */
  const tellCommitted = (request: RequestContext, changes: readonly Changed[]): void => {
    const written = changes.filter((changed) => changed.written)
    const versions = written.map(({ version }) => version)
    store.committed(versions)
    observer.committed(versions)
    let later: Promise<void> | undefined
    for (const check of followers)
      if (concerns(check, written)) later = runAfter(later, () => check.afterCommit?.(written))
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
    apply,
    /** Runs the checks without the hooks. Throws 4xx. */
    confirm,
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
      transaction.afterCommit(() => tellCommitted(request, changes))
      return chain(confirm(request, transaction, changes, issuesOf, progress), () =>
        tellAll(request, transaction, changes, progress),
      )
    },
    /** To be called when `transact` has resolved. Returns a promise if the answer must wait for a check's `afterCommit`. */
    committed: (changes: readonly Changed[]): Promise<void> | undefined =>
      changes[0] === undefined ? undefined : waits.get(changes[0]),
  }
}

export type WritePath = ReturnType<typeof createWritePath>

/** Applies one change inside a transaction: reads and locks the version before, asks the guard, and writes the next version. */
import type { OwnUrl } from '../../kernel/index.ts'
import { chain, type MaybePromise, type Transaction } from '../database/service.ts'
import type { Change, Changed } from './change.ts'
import type { ChangeObserver } from './change-observer.ts'
import { contentOf } from './content-of-change.ts'
import { type Findings, findingsOf } from './findings.ts'
import { isUnchanged } from './is-unchanged.ts'
import type { LargeVersions } from './large-versions.ts'
import { naming } from './naming.ts'
import { absentVersion, nextVersion, versionFlags } from './next-version.ts'
import { patientsFound } from './patients-found.ts'
import { checkPrecondition } from './precondition.ts'
import { toRestrictedChange } from './restricted-change.ts'
import { StaleFindings } from './stale-findings.ts'
import { archiveCurrent, insertResource, updateResource } from './tables.ts'
import type { StoredVersion } from './version.ts'
import type { VersionStore } from './version-store.ts'

/** Writes the version of a change to the table of resources. `isNew`: there is no version before it. */
const save = (
  { types, writing }: Pick<VersionStore, 'types' | 'writing'>,
  transaction: Transaction,
  change: Change,
  next: StoredVersion,
  isNew: boolean,
): MaybePromise<void> => {
  writing(transaction, next)
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

/** Throws Contended, so that the change is prepared again, if findings are about another version, or missing for a large one. */
const checkFindings = (
  large: LargeVersions,
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

/**
 * Throws 4xx; the caller must then roll back the transaction. `isRehearsal`: the transaction will be rolled back, so no index
 * entries are written.
 */
export type ApplyChange = (transaction: Transaction, change: Change, isRehearsal?: boolean) => MaybePromise<Changed>

export const createApplyChange = (store: VersionStore, observer: ChangeObserver, large: LargeVersions): ApplyChange => {
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
    if (takesFindings && !isRehearsal) checkFindings(large, findings, change, previous)
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
      return chain(save(store, transaction, change, version, previous === undefined), () =>
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
    if (isUnknown && !isRehearsal) checkFindings(large, findings, change, previous)
    return guard.target(id, previous, store.within(transaction), findings)
  }

  /** Of the version that a refused change would have replaced. */
  const patientsOf = (change: Change, previous: StoredVersion | undefined, ownUrl: OwnUrl | undefined) => {
    if (previous === undefined) return []
    const content = change.kind === 'delete' ? undefined : change.kind === 'modify' ? change.content : change
    const findings = change.findings ?? findingsOf(content?.resource)
    const patients = patientsFound(change, findings, previous)
    return observer.patients({ version: previous, previous: undefined, resource: undefined, patients }, ownUrl)
  }

  return (transaction, change, isRehearsal = false) => {
    const { type, id, kind } = change
    // The id of a create is new, so there is no version to lock.
    if (kind === 'create') return applyTo(transaction, change, undefined, isRehearsal)
    return chain(store.lock(transaction, type, id, kind === 'delete'), (previous) => {
      // The guard comes first, because later errors reveal whether the resource exists, and preconditions its version.
      const { guard } = change
      const allowed = guard.restricts ? askGuard(transaction, change, previous, isRehearsal) : undefined
      return chain(allowed, () =>
        naming(
          () => applyTo(transaction, change, previous, isRehearsal),
          (ownUrl) => patientsOf(change, previous, ownUrl),
        ),
      )
    })
  }
}

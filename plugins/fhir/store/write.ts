/**
 * The one write path. Every change of a resource, single or in a Bundle, goes through `write` inside a transaction;
 * hooks see it there, and `onCommit` after COMMIT returned.
 */
import type { AuditFact, Committed, Interaction, RequestContext, Runners, Write } from '../../../kernel/index.ts'
import type { Transaction } from '../../database/service.ts'
import { Exists, NoMatch, UpdateAsCreateOff, VersionConflict } from '../errors.ts'
import type { Template } from '../json/splice.ts'
import type { IndexRows } from '../search/index-rows.ts'
import type { Permit } from '../search/judge.ts'
import { packBody } from './body.ts'
import { toInstant } from './stamp.ts'
import type { Store } from './store.ts'
import {
  archiveCurrent,
  DELETED,
  GZIP,
  insertResource,
  METHOD_SHIFT,
  METHODS,
  type Method,
  updateResource,
} from './tables.ts'
import { StoredVersion } from './version.ts'

/** What If-Match and If-None-Match ask of the current version. */
export interface Precondition {
  /** Version numbers of If-Match; `'*'` asks that there is one. */
  readonly ifMatch?: readonly number[] | '*'
  /** If-None-Match: * */
  readonly ifNoneMatch?: boolean
}

interface ChangeBase {
  readonly interaction: Interaction
  readonly type: string
  readonly precondition?: Precondition
  /** What the ruling on the interaction lets this change do. */
  readonly permit: Permit
}

export type Change = ChangeBase &
  (
    | {
        readonly kind: 'create'
        readonly template: Template
        readonly resource: Record<string, unknown>
        readonly id: string
      }
    | {
        readonly kind: 'update'
        readonly template: Template
        readonly resource: Record<string, unknown>
        readonly id: string
      }
    | { readonly kind: 'delete'; readonly id: string }
  )

/** What became of a change. `previous` is the version before, a deletion too. */
export interface Changed {
  readonly interaction: Interaction
  readonly version: StoredVersion
  readonly previous: StoredVersion | undefined
  readonly resource: Record<string, unknown> | undefined
  /** True when the resource did not exist (or was deleted) before. */
  readonly created: boolean
  /** False when nothing had to be written: deleting what is deleted. */
  readonly written: boolean
}

export interface WriterParts {
  readonly store: Store
  readonly run: Runners
  /** [conformance] update_as_create */
  readonly updateAsCreate: boolean
  readonly index: IndexRows
}

/** Throws 412 when the current version is not what the request expects. RFC 9110, section 13.1. */
const checkPrecondition = (change: Change, previous: StoredVersion | undefined): void => {
  const { precondition, type, id } = change
  if (precondition === undefined) return
  const exists = previous !== undefined && !previous.deleted
  if (precondition.ifNoneMatch === true && exists) throw Exists(type, id)
  if (precondition.ifMatch === undefined) return
  if (!exists) throw NoMatch(type, id)
  if (precondition.ifMatch !== '*' && !precondition.ifMatch.includes(previous.version))
    throw VersionConflict(type, id, previous.version)
}

const methodOf = (change: Change): Method =>
  change.interaction.kind === 'patch'
    ? 'PATCH'
    : change.kind === 'create'
      ? 'POST'
      : change.kind === 'delete'
        ? 'DELETE'
        : 'PUT'

const flagsOf = (change: Change, gzip: boolean): number =>
  (METHODS.indexOf(methodOf(change)) << METHOD_SHIFT) | (gzip ? GZIP : 0) | (change.kind === 'delete' ? DELETED : 0)

export const createWrite = ({ store, run, updateAsCreate, index }: WriterParts) => {
  const { types } = store

  /** The next version as a row: its number, stamp and bytes. */
  const nextVersion = (change: Change, previous: StoredVersion | undefined): StoredVersion => {
    const version = (previous?.version ?? 0) + 1
    const stamp = store.stamper.next()
    const body =
      change.kind === 'delete' ? undefined : packBody(change.template.fill(change.id, version, toInstant(stamp)))
    return new StoredVersion(change.type, {
      rid: previous?.rid ?? store.nextRid(),
      type: types.code(change.type) ?? 0,
      id: change.id,
      ver: version,
      upd: stamp,
      flags: flagsOf(change, body?.gzip ?? false),
      body: body?.bytes ?? null,
    })
  }

  const save = async (transaction: Transaction, change: Change, next: StoredVersion, isNew: boolean): Promise<void> => {
    const flags = flagsOf(change, next.gzip)
    const body = next.deleted ? null : next.bytes
    if (isNew) {
      const code = types.code(next.type) ?? 0
      await transaction.run(insertResource, [next.rid, code, next.id, next.version, next.stamp, flags, body])
      return
    }
    await transaction.run(archiveCurrent, [next.rid])
    await transaction.run(updateResource, [next.version, next.stamp, flags, body, next.rid])
  }

  const tell = async (
    request: RequestContext,
    transaction: Transaction,
    changed: Changed,
    status: number,
  ): Promise<void> => {
    const { interaction, version, previous, resource } = changed
    if (run.onWrite !== null && changed.written) {
      const write: Write = {
        request,
        interaction,
        previous: previous?.deleted === false ? previous.toFact() : undefined,
        next: version.toFact(),
        resource,
        transaction,
      }
      await run.onWrite(write)
    }
    if (run.onAudit !== null) {
      const fact: AuditFact = { request, interaction, status, version: version.version, transaction }
      await run.onAudit(fact)
    }
  }

  const apply = async (transaction: Transaction, change: Change): Promise<Changed> => {
    const { interaction, type, id } = change
    // A create has an id nobody else can know: there is nothing to look for.
    const previous = change.kind === 'create' ? undefined : await store.lock(transaction, type, id)
    change.permit.check(id, previous, change.kind === 'delete' ? undefined : change.resource)
    checkPrecondition(change, previous)
    const created = previous === undefined || previous.deleted
    if (change.kind === 'update' && created && !updateAsCreate) throw UpdateAsCreateOff(type, id, type)
    if (change.kind === 'delete' && created)
      return {
        interaction,
        version: previous ?? absent(type, id),
        previous,
        resource: undefined,
        created: false,
        written: false,
      }
    const version = nextVersion(change, previous)
    await save(transaction, change, version, previous === undefined)
    const resource = change.kind === 'delete' ? undefined : change.resource
    const indexed = index.write(transaction, version, resource, previous)
    if (indexed !== undefined) await indexed
    return { interaction, version, previous, resource, created, written: true }
  }

  return {
    /** Applies one change; throws 4xx and leaves the transaction to be undone. */
    async write(request: RequestContext, transaction: Transaction, change: Change): Promise<Changed> {
      const changed = await apply(transaction, change)
      const status = change.kind === 'delete' ? 204 : changed.created ? 201 : 200
      if (run.onWrite !== null || run.onAudit !== null) await tell(request, transaction, changed, status)
      return changed
    },
    /** After COMMIT returned. */
    committed(request: RequestContext, changes: readonly Changed[]): void {
      const written = changes.filter((changed) => changed.written)
      store.committed(written.map(({ version }) => version))
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
    },
  }
}

export type WritePath = ReturnType<typeof createWrite>

/** Stands for what never was, so that deleting it answers like deleting what is deleted. */
const absent = (type: string, id: string): StoredVersion =>
  new StoredVersion(type, { rid: 0, type: 0, id, ver: 0, upd: 0, flags: DELETED, body: null })

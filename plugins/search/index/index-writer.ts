/**
 * Updates the index in the transactions that write resources: a create adds rows, an update writes the difference, a
 * deletion removes them. Nothing is awaited per row. Rows of new resources may be inserted later, in batches.
 */

import { insertImmediately, type MaybePromise, type Transaction } from '../../database/service.ts'
import type { Findings, StoredVersion } from '../../storage/service.ts'
import type { ChangeCounters } from './change-counters.ts'
import { toContainedRows } from './contained/contained-entries.ts'
import { createContainedWriter } from './contained-writer.ts'
import { createDisplayWriter, removeDisplays } from './display-writer.ts'
import { createFindingsWriter } from './findings-writer.ts'
import type { IndexEntries } from './index-entries.ts'
import { toIndexFindings } from './index-findings.ts'
import { collect, done, insert, putLater, remove, without } from './index-row-writes.ts'
import { indexedOf, parseIndexed } from './indexed-json.ts'
import type { Registry } from './registry.ts'
import { deleteResourceRow, INDEX_KINDS, insertResourceRow, mergeResourceRow } from './tables.ts'

export interface IndexWriter {
  /**
   * Writes the index rows of a change. `previous` is the version before; a deleted one counts as none. `findings`:
   * what a worker thread has extracted from both versions.
   */
  write(
    transaction: Transaction,
    next: StoredVersion,
    resource: Readonly<Record<string, unknown>> | undefined,
    previous: StoredVersion | undefined,
    findings?: Findings | undefined,
  ): MaybePromise<void>
  /** Adds rows of some columns of a resource. Rows that exist already stay. */
  addTo(
    transaction: Transaction,
    at: { readonly rid: number; readonly type: string; readonly id: string },
    rows: IndexEntries,
  ): MaybePromise<void>
  /** Adds all rows of the contained resources of a resource. Rows that exist already stay. */
  addContained(
    transaction: Transaction,
    at: { readonly rid: number; readonly type: string; readonly id: string },
    resource: Readonly<Record<string, unknown>>,
  ): MaybePromise<void>
  /** Removes the displays of superseded versions that no indexed resource has. */
  erase(transaction: Transaction, versions: readonly StoredVersion[]): MaybePromise<void>
  /** Called after COMMIT of the transaction that wrote these versions. */
  committed(versions: readonly StoredVersion[]): void
  /** Empties the cache of stored display texts. To be called after rows of the table of display texts were removed. */
  forget(): void
}

/** `compareLayout` makes a write with outdated rows fail. `changes`: counters that invalidate cached pages. */
export const createIndexWriter = (
  registry: Registry,
  codeOf: (type: string) => number | undefined,
  compareLayout: (transaction: Transaction) => MaybePromise<void>,
  changes?: ChangeCounters,
): IndexWriter => {
  const displays = createDisplayWriter()
  const writeContained = createContainedWriter(registry, codeOf, displays)
  const writeFound = createFindingsWriter({ registry, codeOf, compareLayout, changes, displays, writeContained })

  return {
    write(transaction, next, given, previous, findings) {
      if (findings !== undefined) return writeFound(transaction, next, given !== undefined, toIndexFindings(findings))
      const { rid, type, id } = next
      const code = codeOf(type) ?? 0
      const resource = given === undefined ? undefined : indexedOf(given, next.text)
      const earlier = previous === undefined || previous.deleted ? undefined : parseIndexed(previous.text)
      const before = earlier === undefined ? undefined : registry.extract(earlier)
      if (before !== undefined) changes?.record(next, before)
      const rows = resource === undefined ? undefined : registry.extract(resource)
      if (rows !== undefined) {
        changes?.record(next, rows)
        if (given !== undefined) registry.written.note(type, given, registry.source, rows)
      }
      changes?.recorded(transaction, next)
      const put = before === undefined ? putLater : insertImmediately
      const promises: Promise<void>[] = []
      collect(promises, compareLayout(transaction))
      if (resource?.contained !== undefined || earlier?.contained !== undefined)
        writeContained(
          transaction,
          promises,
          next,
          toContainedRows(registry, resource),
          toContainedRows(registry, earlier),
          put,
        )
      if (rows === undefined) {
        if (before !== undefined) for (const kind of INDEX_KINDS) remove(transaction, promises, kind, before[kind], rid)
        collect(promises, transaction.run(deleteResourceRow, [code, rid]))
        return done(promises)
      }
      const masks = registry.masks(type, rows)
      const ref = registry.hasher.long(`${type}/${id}`)
      collect(promises, put(transaction, insertResourceRow, [code, rid, ref, masks[0]!, masks[1]!, masks[2]!]))
      for (const kind of INDEX_KINDS) {
        if (before === undefined) {
          insert(transaction, promises, kind, rows[kind], rid, put)
          continue
        }
        remove(transaction, promises, kind, without(kind, before[kind], rows[kind]), rid)
        insert(transaction, promises, kind, without(kind, rows[kind], before[kind]), rid, put)
      }
      if (rows.text.length > 0) {
        const written = displays.write(transaction, promises, rows, put)
        if (written.length > 0) displays.note(next, written)
      }
      return done(promises)
    },
    committed(versions) {
      changes?.committed(versions)
      displays.committed(versions)
    },
    addTo(transaction, { rid, type, id }, rows) {
      const masks = registry.masks(type, rows)
      const promises: Promise<void>[] = []
      const ref = registry.hasher.long(`${type}/${id}`)
      collect(
        promises,
        transaction.run(mergeResourceRow, [codeOf(type) ?? 0, rid, ref, masks[0]!, masks[1]!, masks[2]!]),
      )
      for (const kind of INDEX_KINDS) insert(transaction, promises, kind, rows[kind], rid, insertImmediately)
      displays.write(transaction, promises, rows, insertImmediately)
      return done(promises)
    },
    addContained(transaction, at, resource) {
      const promises: Promise<void>[] = []
      writeContained(transaction, promises, at, toContainedRows(registry, resource), [], insertImmediately)
      return done(promises)
    },
    erase(transaction, versions) {
      const promises: Promise<void>[] = []
      for (const { text } of versions) {
        const resource = parseIndexed(text)
        const contained = toContainedRows(registry, resource).flatMap((one) => (one === undefined ? [] : [one.rows]))
        for (const rows of [registry.extract(resource), ...contained]) removeDisplays(transaction, promises, rows)
      }
      // A later write of the same display must not take it for written.
      displays.forget()
      transaction.afterCommit(displays.forget)
      return done(promises)
    },
    forget: displays.forget,
  }
}

/**
 * Updates the index in the transactions that write resources: a create adds rows, an update writes the difference, a
 * deletion removes them. Nothing is awaited per row. Rows of new resources may be inserted later, in batches.
 */

import { createPause } from '../../../kernel/index.ts'
import {
  type DeferredInsert,
  insertImmediately,
  type MaybePromise,
  type SqlScalar,
  type Transaction,
} from '../../database/service.ts'
import { type Findings, StaleFindings, type StoredVersion } from '../../storage/service.ts'
import type { ChangeCounters } from './change-counters.ts'
import { NO_ROWS, toContainedRows } from './contained/contained-entries.ts'
import { CONTAINED_OFFSET, containedRid } from './contained/key-space.ts'
import { type IndexEntries, TEXT_COLUMNS } from './index-entries.ts'
import { type ContainedList, type IndexFindings, toIndexFindings } from './index-findings.ts'
import { indexedOf, parseIndexed } from './indexed-json.ts'
import type { Registry } from './registry.ts'
import {
  deleteResourceRow,
  deleteRow,
  INDEX_KINDS,
  type IndexTableKind,
  insertDisplay,
  insertIndexRows,
  insertResourceRow,
  mergeResourceRow,
  TABLES,
} from './tables.ts'

const KNOWN_DISPLAYS = 20_000
const NONE: readonly number[] = []

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
  /** Called after COMMIT of the transaction that wrote these versions. */
  committed(versions: readonly StoredVersion[]): void
  /** Called after rows of displays were removed: the cache of written displays is emptied. */
  forget(): void
}

type Values = readonly SqlScalar[]
/** Inserts rows: immediately, or after the transaction. */
type Put = (transaction: Transaction, insert: DeferredInsert, params: Values, last?: SqlScalar) => MaybePromise<void>
const putLater: Put = (transaction, insert, params, last) => transaction.insertDeferred(insert, params, last)

const identify = (kind: IndexTableKind, values: Values, at: number): string => {
  const { key } = TABLES[kind]
  let text = ''
  for (let n = 0; n < key.length; n += 1) text += `${values[at + n]}\u0001`
  return text
}

/** The rows of `values` that `others` does not hold. */
const without = (kind: IndexTableKind, values: Values, others: Values): Values => {
  const { width } = TABLES[kind]
  const known = new Set<string>()
  for (let at = 0; at < others.length; at += width) known.add(identify(kind, others, at))
  const rest: (number | string | null)[] = []
  for (let at = 0; at < values.length; at += width)
    if (!known.has(identify(kind, values, at))) for (let n = 0; n < width; n += 1) rest.push(values[at + n] as number)
  return rest
}

/** `compareLayout` makes a write with outdated rows fail. `changes`: counters that invalidate cached pages. */
export const createIndexWriter = (
  registry: Registry,
  codeOf: (type: string) => number | undefined,
  compareLayout: (transaction: Transaction) => MaybePromise<void>,
  changes?: ChangeCounters,
): IndexWriter => {
  // Displays that were committed recently, so that they need not be written again.
  const displays = new Set<number>()
  // Displays written by transactions that are still open and may be rolled back.
  const unconfirmed = new WeakMap<StoredVersion, readonly number[]>()

  const collect = (promises: Promise<void>[], one: MaybePromise<void>): void => {
    if (one instanceof Promise) promises.push(one)
  }
  const insert = (
    transaction: Transaction,
    promises: Promise<void>[],
    kind: IndexTableKind,
    values: Values,
    rid: number,
    put: Put,
  ): void => {
    if (values.length > 0) collect(promises, put(transaction, insertIndexRows[kind], values, rid))
  }
  const remove = (
    transaction: Transaction,
    promises: Promise<void>[],
    kind: IndexTableKind,
    values: Values,
    rid: number,
  ): void => {
    const { width, key } = TABLES[kind]
    for (let at = 0; at < values.length; at += width)
      collect(promises, transaction.run(deleteRow[kind], [...values.slice(at, at + key.length), rid]))
  }
  /** Returns the displays that it wrote. */
  const writeDisplays = (
    transaction: Transaction,
    promises: Promise<void>[],
    { text }: IndexEntries,
    put: Put,
  ): readonly number[] => {
    let written: number[] | undefined
    for (let at = 0; at < text.length; at += TEXT_COLUMNS) {
      const value = text[at + 2] as number
      const column = text[at] as number
      const mixed = value + column
      if (displays.has(mixed)) continue
      written ??= []
      written.push(mixed)
      collect(
        promises,
        put(transaction, insertDisplay, [column, text[at + 1] as string, value, text[at + 3] as string | null]),
      )
    }
    return written ?? NONE
  }
  /** Writes the difference of two lists of contained resources, compared by their index in `contained`. */
  const writeContained = (
    transaction: Transaction,
    promises: Promise<void>[],
    { rid: holder, type: holderType, id: holderId }: Pick<StoredVersion, 'rid' | 'type' | 'id'>,
    now: ContainedList,
    before: ContainedList,
    put: Put,
  ): void => {
    for (let at = 0; at < Math.max(now.length, before.length); at += 1) {
      const rid = containedRid(holder, at)
      const [one, other] = [now[at], before[at]]
      for (const kind of INDEX_KINDS) {
        const [values, old] = [(one?.rows ?? NO_ROWS)[kind], (other?.rows ?? NO_ROWS)[kind]]
        remove(transaction, promises, kind, without(kind, old, values), rid)
        insert(transaction, promises, kind, without(kind, values, old), rid, put)
      }
      if (other !== undefined && other.type !== one?.type)
        collect(promises, transaction.run(deleteResourceRow, [(codeOf(other.type) ?? 0) - CONTAINED_OFFSET, rid]))
      if (one === undefined) continue
      const { type, id, masks, rows } = one
      const ref = registry.hasher.long(`${holderType}/${holderId}#${id}`)
      const code = (codeOf(type) ?? 0) - CONTAINED_OFFSET
      collect(promises, put(transaction, insertResourceRow, [code, rid, ref, masks[0]!, masks[1]!, masks[2]!]))
      writeDisplays(transaction, promises, rows, put)
    }
  }
  const done = (promises: Promise<void>[]): MaybePromise<void> =>
    promises.length === 0 ? undefined : Promise.all(promises).then(() => undefined)

  /** Writes the rows of a large resource in parts, with other work of the main thread in between. */
  const writeFound = async (
    transaction: Transaction,
    next: StoredVersion,
    isThere: boolean,
    findings: IndexFindings,
  ): Promise<void> => {
    // The columns have changed since the thread extracted the rows: the write is retried from the beginning.
    const { rid, type, id } = next
    const { before, added, masks, keys, contained: containedNow } = findings
    const types = [...containedNow, ...(before?.contained ?? [])].flatMap((one) =>
      one === undefined ? [] : [one.type],
    )
    if (!registry.hasSameRows(findings.source, [...new Set([type, ...types])])) throw StaleFindings()
    const code = codeOf(type) ?? 0
    const put = before === undefined ? putLater : insertImmediately
    const pause = createPause()
    changes?.recordKeys(next, keys)
    const promises: Promise<void>[] = []
    collect(promises, compareLayout(transaction))
    const finish = async (): Promise<void> => {
      if (promises.length > 0) await Promise.all(promises.splice(0))
      await pause()
    }
    if (isThere) {
      const ref = registry.hasher.long(`${type}/${id}`)
      collect(promises, put(transaction, insertResourceRow, [code, rid, ref, masks[0]!, masks[1]!, masks[2]!]))
    } else collect(promises, transaction.run(deleteResourceRow, [code, rid]))
    const contained = { now: findings.contained, before: before?.contained ?? [] }
    if (contained.now.length + contained.before.length > 0)
      writeContained(transaction, promises, next, contained.now, contained.before, put)
    for (const rows of before?.removed ?? []) {
      for (const kind of INDEX_KINDS) remove(transaction, promises, kind, rows[kind], rid)
      await finish()
    }
    const displayed: number[] = []
    for (const rows of added) {
      for (const kind of INDEX_KINDS) insert(transaction, promises, kind, rows[kind], rid, put)
      if (rows.text.length > 0) displayed.push(...writeDisplays(transaction, promises, rows, put))
      await finish()
    }
    if (displayed.length > 0) unconfirmed.set(next, displayed)
    await finish()
  }

  return {
    write(transaction, next, given, previous, findings) {
      if (findings !== undefined) return writeFound(transaction, next, given !== undefined, toIndexFindings(findings))
      const { rid, type, id } = next
      const code = codeOf(type) ?? 0
      const resource = given === undefined ? undefined : indexedOf(given, next.text)
      const earlier = previous === undefined || previous.deleted ? undefined : parseIndexed(previous.text)
      const before = earlier === undefined ? undefined : registry.extract(earlier)
      if (before !== undefined) changes?.record(next, before)
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
      if (resource === undefined) {
        if (before !== undefined) for (const kind of INDEX_KINDS) remove(transaction, promises, kind, before[kind], rid)
        collect(promises, transaction.run(deleteResourceRow, [code, rid]))
        return done(promises)
      }
      const rows = registry.extract(resource)
      changes?.record(next, rows)
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
        const written = writeDisplays(transaction, promises, rows, put)
        if (written.length > 0) unconfirmed.set(next, written)
      }
      return done(promises)
    },
    committed(versions) {
      changes?.committed(versions)
      for (const version of versions) {
        const written = unconfirmed.get(version)
        if (written === undefined) continue
        if (displays.size >= KNOWN_DISPLAYS) displays.clear()
        for (const one of written) displays.add(one)
        unconfirmed.delete(version)
      }
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
      writeDisplays(transaction, promises, rows, insertImmediately)
      return done(promises)
    },
    addContained(transaction, at, resource) {
      const promises: Promise<void>[] = []
      writeContained(transaction, promises, at, toContainedRows(registry, resource), [], insertImmediately)
      return done(promises)
    },
    forget: () => displays.clear(),
  }
}

/** Locks what several changes of one transaction are about, in an order that all transactions share. */
import type { Transaction } from '../../database/service.ts'
import { byLockKey, type Change, lockKeyOf, type StoredVersion } from '../../storage/service.ts'
import type { View } from '../view.ts'

export interface LockedTarget {
  readonly type: string
  readonly target: {
    readonly id: string
    readonly found?: StoredVersion | undefined
    verify?(view: View, transaction: Transaction): Promise<unknown>
  }
  readonly changes: readonly Change[]
}

interface Row {
  readonly type: string
  readonly id: string
  readonly isDeleted: boolean
}

const rowsOf = ({ type, target, changes }: LockedTarget): readonly Row[] => {
  const found = target.found === undefined ? [] : [{ type, id: target.id, isDeleted: false }]
  // A create has an id that nobody else knows.
  const changed = changes.filter(({ kind }) => kind !== 'create')
  return [...found, ...changed.map((one) => ({ type: one.type, id: one.id, isDeleted: one.kind === 'delete' }))]
}

/** What exists, or may exist, in the order of `Type/id`. */
const allRows = (targets: readonly LockedTarget[]): readonly Row[] => {
  const rows = new Map<string, Row>()
  for (const row of targets.flatMap(rowsOf))
    if (row.isDeleted || !rows.has(lockKeyOf(row))) rows.set(lockKeyOf(row), row)
  return [...rows].sort(([one], [other]) => byLockKey(one, other)).map(([, row]) => row)
}

/** Types with conditions, in order, and whether all of them found something: see conditional.ts. */
const typesOf = (targets: readonly LockedTarget[]): readonly (readonly [type: string, isShared: boolean])[] => {
  const types = new Map<string, boolean>()
  for (const { type, target } of targets)
    if (target.verify !== undefined) types.set(type, types.get(type) !== false && target.found !== undefined)
  return [...types].sort(([one], [other]) => byLockKey(one, other))
}

/**
 * To be called first in a transaction with several changes; verifies their conditions as well. Changes are made in the
 * order of FHIR, deletions first, and transactions that lock one resource after the other in different orders deadlock on
 * PostgreSQL. So the locks against changes are taken first, in one order. They exclude only each other: no circle holds one
 * of them and a lock of a later step, which are those of deletions (they wait for references to what is deleted) and of
 * references (they wait for deletions). On SQLite, which has one writer, only the conditions are verified.
 */
export const lockTargets = async (
  here: View,
  transaction: Transaction,
  targets: readonly LockedTarget[],
): Promise<void> => {
  const { reads } = here
  for (const [type, isShared] of typesOf(targets)) await reads.advisoryLock(transaction, conditionLock(type), isShared)
  const rows = reads.hasOneWriter ? [] : allRows(targets)
  if (rows.length > 1) {
    await reads.lockAll(transaction, rows)
    const deleted = rows.filter(({ isDeleted }) => isDeleted)
    if (deleted.length > 0) await reads.lockAll(transaction, deleted, true)
  }
  for (const { target } of targets) if (target.verify !== undefined) await target.verify(here, transaction)
}

/** The named lock of conditions on a type. */
export const conditionLock = (type: string): string => `conditional/${type}`

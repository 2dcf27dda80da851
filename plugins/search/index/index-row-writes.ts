/**
 * Writes and removes index rows. Statements are sent without waiting: the promises of those that are not done at once are
 * collected, so that a write waits once.
 */
import type { DeferredInsert, MaybePromise, SqlScalar, Transaction } from '../../database/service.ts'
import { deleteRow, type IndexTableKind, insertIndexRows, TABLES } from './tables.ts'

export type Values = readonly SqlScalar[]
/** Inserts rows: immediately, or after the transaction. */
export type Put = (
  transaction: Transaction,
  insert: DeferredInsert,
  params: Values,
  last?: SqlScalar,
) => MaybePromise<void>
export const putLater: Put = (transaction, insert, params, last) => transaction.insertDeferred(insert, params, last)

const identify = (kind: IndexTableKind, values: Values, at: number): string => {
  const { key } = TABLES[kind]
  let text = ''
  for (let n = 0; n < key.length; n += 1) text += `${values[at + n]}\u0001`
  return text
}

/** The rows of `values` that `others` does not hold. */
export const without = (kind: IndexTableKind, values: Values, others: Values): Values => {
  const { width } = TABLES[kind]
  const known = new Set<string>()
  for (let at = 0; at < others.length; at += width) known.add(identify(kind, others, at))
  const rest: (number | string | null)[] = []
  for (let at = 0; at < values.length; at += width)
    if (!known.has(identify(kind, values, at))) for (let n = 0; n < width; n += 1) rest.push(values[at + n] as number)
  return rest
}

export const collect = (promises: Promise<void>[], one: MaybePromise<void>): void => {
  if (one instanceof Promise) promises.push(one)
}

export const insert = (
  transaction: Transaction,
  promises: Promise<void>[],
  kind: IndexTableKind,
  values: Values,
  rid: number,
  put: Put,
): void => {
  if (values.length > 0) collect(promises, put(transaction, insertIndexRows[kind], values, rid))
}

export const remove = (
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

/** Waits for the collected promises, if there are any. */
export const done = (promises: Promise<void>[]): MaybePromise<void> =>
  promises.length === 0 ? undefined : Promise.all(promises).then(() => undefined)

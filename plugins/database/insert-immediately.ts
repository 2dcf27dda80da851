/** Inserts rows at once with the statements of a deferred insert. */
import type { DeferredInsert, MaybePromise, Sql, SqlParam, SqlScalar, StatementRunner } from './contract.ts'

/** Appends to each row the last parameter, which all rows share. `width`: parameters of a row including it. */
const withLast = <T extends SqlParam>(params: readonly T[], width: number, last: T): readonly T[] => {
  const whole: T[] = []
  for (let at = 0; at < params.length; ) {
    for (let n = 1; n < width; n += 1) whole.push(params[at++] as T)
    whole.push(last)
  }
  return whole
}

/**
 * Inserts rows without deferring them. `params` holds one row after the other; `last` is the last parameter of all rows
 * if they do not hold it.
 */
export const insertImmediately = (
  transaction: Pick<StatementRunner, 'run'>,
  { counts, width }: DeferredInsert,
  given: readonly SqlParam[],
  last?: SqlScalar,
): MaybePromise<void> => {
  const params = last === undefined ? given : withLast(given, width, last)
  const most = counts.length * width
  if (params.length <= most)
    return params.length === 0 ? undefined : transaction.run(counts[params.length / width - 1] as Sql, params)
  const sent: MaybePromise<void>[] = []
  for (let at = 0; at < params.length; at += most) {
    const part = params.slice(at, at + most)
    sent.push(transaction.run(counts[part.length / width - 1] as Sql, part))
  }
  return sent.some((one) => one instanceof Promise) ? Promise.all(sent).then(() => undefined) : undefined
}

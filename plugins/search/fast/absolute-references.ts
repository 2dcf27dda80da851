/**
 * Which reference columns hold references with a whole address. Whoever writes here knows the relative one, so mostly none
 * does, and a search for what refers to a resource of ours need not look for its whole address as well. Rather once too
 * often: a column counts as having some until it is known to have none, and from the moment one is about to be written.
 * Only where this process is the one writer.
 */
import { chain, sql } from '../../database/service.ts'
import type { RowSource } from '../../storage/service.ts'
import { ABSOLUTE } from '../definition/column-codes.ts'
import type { ChangeCounters } from '../index/change-counters.ts'

const anyIn = sql('search.any-absolute', 'SELECT 1 AS one FROM ix_ref x WHERE x.param = ? LIMIT 1')

export interface AbsoluteReferenceColumns {
  /** Asks the database once for each column, and answers for it when that is done. */
  mayBeIn(column: number): boolean
  /** Columns may mean something else from now on. */
  forget(): void
}

export const createAbsoluteReferenceColumns = (
  source: Pick<RowSource, 'get'>,
  { hasAbsolute }: Pick<ChangeCounters, 'hasAbsolute'>,
): AbsoluteReferenceColumns => {
  let known = new Map<number, boolean>()
  const ask = (column: number): void => {
    const asked = known
    asked.set(column, true)
    const answered = chain(source.get<{ one: number }>(anyIn, [column + ABSOLUTE]), (row) => {
      asked.set(column, row !== undefined)
    })
    // It stays as if there were some.
    if (answered instanceof Promise) answered.catch(() => undefined)
  }
  return {
    mayBeIn(column) {
      if (!known.has(column)) ask(column)
      return hasAbsolute(column) || known.get(column) !== false
    },
    forget() {
      known = new Map()
    },
  }
}

/** Counts the current resources of each type by the index, which has a row for each: it reads no resource. */
import { type Database, sql } from '../../database/service.ts'
import type { TypeCodes } from '../../storage/service.ts'

/** Types with at least one resource, in alphabetical order. It takes about a second for some million resources. */
export type CountTypes = (signal: AbortSignal) => Promise<readonly { readonly type: string; readonly count: number }[]>

// Contained resources have codes below zero.
const count = sql('search.count-types', 'SELECT type, count(*) AS n FROM ix_res WHERE type > 0 GROUP BY type')

export const createCountTypes =
  (database: Database, types: TypeCodes): CountTypes =>
  async (signal) => {
    const rows = await database.longQuery<{ readonly type: number; readonly n: number }>(count, [], signal)
    return rows
      .map(({ type, n }) => ({ type: types.name(type), count: Number(n) }))
      .sort((one, other) => (one.type < other.type ? -1 : 1))
  }

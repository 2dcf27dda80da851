/** Reads resources by their keys. */
import type { MaybePromise, SqlParam } from '../../database/service.ts'
import {
  type RowSource,
  StoredVersion,
  type TypeCodes,
  type VersionRow,
  type VersionStore,
} from '../../storage/service.ts'
import { meets, type TypeConditions } from '../query/clause-sql.ts'
import { type Fragment, isIn, q, raw } from '../sql/fragment.ts'
import type { StatementCache } from '../sql/statements.ts'
import type { Deadline } from './deadline.ts'
import { type RunStatement, SMALL } from './run-statement.ts'

/** Columns of the table of resources, alias `r`. */
export const COLUMNS = raw('r.rid, r.type, r.id, r.ver, r.upd, r.flags, r.body')

export interface VersionReader {
  /** Makes a version from a row, without looking for it in the cache. */
  unheld(row: VersionRow): StoredVersion
  /** The cached version of a row, or one that is made from it. */
  version(row: VersionRow): StoredVersion
  /** Reads a few resources. Synchronous where the database is. */
  fetch(rids: readonly number[]): MaybePromise<VersionRow[]>
  /**
   * Reads the resources with these keys, in the same order. Leaves out those that were deleted since, or that no
   * longer match `required`; that condition is in the same statement, so it applies to exactly the versions that are
   * returned.
   */
  versions(
    rids: readonly number[],
    asking: Deadline,
    required?: readonly TypeConditions[],
  ): Promise<readonly StoredVersion[]>
  /**
   * The version numbers of these resources, by resource key. Leaves out the resources that `versions` leaves out, and reads no
   * content.
   */
  currentNumbers(
    rids: readonly number[],
    asking: Deadline,
    required: readonly TypeConditions[],
  ): Promise<ReadonlyMap<number, number>>
  /** Like `versions`, but adds nothing to the cache: for many resources that are read once. Newest first. */
  passing(rids: readonly number[], asking: Deadline, required: readonly TypeConditions[]): Promise<StoredVersion[]>
}

export interface VersionReaderParts {
  readonly source: RowSource
  readonly types: TypeCodes
  readonly statements: StatementCache
  /** Caches versions. Undefined inside a transaction. */
  readonly store: Pick<VersionStore, 'getVersion' | 'putVersion'> | undefined
  readonly run: RunStatement
}

export const createVersionReader = ({ source, types, statements, store, run }: VersionReaderParts): VersionReader => {
  const toVersion = (row: VersionRow): StoredVersion => {
    const version = new StoredVersion(types.name(row.type), row)
    store?.putVersion(version)
    return version
  }

  const heldOrVersion = (row: VersionRow): StoredVersion => store?.getVersion(row.rid, row.ver) ?? toVersion(row)

  const isCurrent = (rids: readonly number[]): Fragment =>
    q`${isIn('r.rid', rids as readonly SqlParam[])} AND (r.flags & 1) = 0`

  /** SQL for the rows of current resources, unsorted. */
  const byRids = (rids: readonly number[]): Fragment => q`SELECT ${COLUMNS} FROM resource r WHERE ${isCurrent(rids)}`

  const rowsOf = (
    rids: readonly number[],
    asking: Deadline,
    required: readonly TypeConditions[],
  ): Promise<VersionRow[]> => {
    if (required.every(({ conditions }) => conditions.length === 0))
      return run<VersionRow>(byRids(rids), rids.length <= SMALL, asking)
    return run<VersionRow>(q`${byRids(rids)} AND ${meets('r', required)}`, false, asking)
  }

  const fetch = (rids: readonly number[]): MaybePromise<VersionRow[]> => {
    const { text, params } = byRids(rids)
    return source.all<VersionRow>(statements(text), params)
  }

  const versions = async (
    rids: readonly number[],
    asking: Deadline,
    required: readonly TypeConditions[] = [],
  ): Promise<readonly StoredVersion[]> => {
    if (rids.length === 0) return []
    const rows = await rowsOf(rids, asking, required)
    const byRid = new Map(rows.map((row) => [row.rid, row]))
    return rids.flatMap((rid) => {
      const row = byRid.get(rid)
      return row === undefined ? [] : [heldOrVersion(row)]
    })
  }

  return {
    unheld: toVersion,
    version: heldOrVersion,
    fetch,
    versions,
    async currentNumbers(rids, asking, required) {
      if (rids.length === 0) return new Map()
      const found = await run<Pick<VersionRow, 'rid' | 'ver'>>(
        q`SELECT r.rid, r.ver FROM resource r WHERE ${isCurrent(rids)} AND ${meets('r', required)}`,
        false,
        asking,
      )
      return new Map(found.map(({ rid, ver }) => [rid, ver]))
    },
    async passing(
      rids: readonly number[],
      asking: Deadline,
      required: readonly TypeConditions[],
    ): Promise<StoredVersion[]> {
      if (rids.length === 0) return []
      const rows = await rowsOf(rids, asking, required)
      return rows
        .sort((one, other) => other.rid - one.rid)
        .map((row) => store?.getVersion(row.rid, row.ver) ?? new StoredVersion(types.name(row.type), row))
    },
  }
}

/**
 * Reads the versions that were current at a time, of all resources of a type, in the order of their resource keys. The
 * answer changes only where old versions are erased, so work that is repeated gets the same versions, or fewer.
 */
import { type Database, type Sql, sql } from '../../database/service.ts'
import { StoredVersion, type VersionRow, type VersionStore } from '../../storage/service.ts'

// Pages are small, because the main thread turns the answer of a thread or session into objects in one turn.
const CANDIDATES = 4_000 // resource keys read at once
const PAGE = 200 // versions read at once
const PAGE_BYTES = 512 * 1024 // of stored bodies in a page, at most

export interface AsOfQuery {
  readonly type: string
  /** Version time, microseconds since the epoch: the last microsecond of `closeTime`. */
  readonly upTo: number
  /** Only versions that were made after this version time. */
  readonly since?: number | undefined
  /** Only resources behind this key. */
  readonly after: number
  /** The resources that were deleted at that time, instead of those that were there. */
  readonly deleted: boolean
  readonly signal: AbortSignal
}

// The index rows have the resources of a type that are there now, in order. Those that were deleted since have to be added, in
// the same statement: then each resource that was there at the time is found, whenever it was deleted.
const readPresent = sql(
  'search.as-of-present',
  `SELECT rid FROM (SELECT rid FROM (SELECT x.rid AS rid FROM ix_res x WHERE x.type = ? AND x.rid > ? ORDER BY x.rid LIMIT ${CANDIDATES}) AS a
   UNION SELECT r.rid AS rid FROM resource r WHERE r.type = ? AND r.upd > ? AND (r.flags & 1) = 1 AND +r.rid > ?) AS c ORDER BY rid LIMIT ${CANDIDATES}`,
)
// A resource that was changed or deleted within a time was changed since its beginning. The plus signs choose the index
// resource_upd: in the order of keys all resources of all types would be read.
const readChanged = sql(
  'search.as-of-changed',
  `SELECT r.rid AS rid FROM resource r WHERE r.type = ? AND r.upd > ? AND +r.rid > ? ORDER BY +r.rid LIMIT ${CANDIDATES}`,
)

const versionsOf = (keys: string): string => `WITH l AS (${keys}), v AS (
    SELECT r.rid, r.id, r.ver, r.upd, r.flags, 0 AS old, coalesce(length(r.body), 0) AS size
    FROM l JOIN resource r ON r.rid = l.rid WHERE r.upd <= ?
    UNION ALL
    SELECT h.rid, r.id, h.ver, h.upd, h.flags, 1 AS old, coalesce(length(h.body), 0) AS size
    FROM l JOIN resource r ON r.rid = l.rid JOIN history h ON h.rid = r.rid AND h.ver =
      (SELECT n.ver FROM history n WHERE n.rid = r.rid AND n.upd <= ? ORDER BY n.ver DESC LIMIT 1)
    WHERE r.upd > ?
  ), w AS (SELECT v.*, sum(size) OVER (ORDER BY rid) - size AS before FROM v WHERE (flags & 1) = ? AND upd > ?)
  SELECT w.rid, w.id, w.ver, w.upd, w.flags, CASE WHEN w.before < ${PAGE_BYTES} THEN 1 ELSE 0 END AS fits,
    CASE WHEN w.before >= ${PAGE_BYTES} THEN NULL
      WHEN w.old = 0 THEN (SELECT b.body FROM resource b WHERE b.rid = w.rid)
      ELSE (SELECT b.body FROM history b WHERE b.rid = w.rid AND b.ver = w.ver) END AS body
  FROM w ORDER BY w.rid`
const readVersions: Sql = sql('search.as-of', {
  sqlite: versionsOf('SELECT value AS rid FROM json_each(?)'),
  postgres: versionsOf('SELECT CAST(value AS bigint) AS rid FROM jsonb_array_elements_text(?::jsonb)'),
})

type Row = Omit<VersionRow, 'type'> & { readonly fits: number }

export interface AsOfParts {
  readonly database: Pick<Database, 'longQuery'>
  readonly types: Pick<VersionStore['types'], 'code'>
}

/** Yields some versions at a time, at least one, in ascending order of `rid`. */
export type ReadAsOf = (query: AsOfQuery) => AsyncGenerator<readonly StoredVersion[]>

export const createReadAsOf = ({ database, types }: AsOfParts): ReadAsOf =>
  async function* ({ type, upTo, since = 0, after, deleted, signal }) {
    const code = types.code(type)
    if (code === undefined) return
    const candidates = async (behind: number): Promise<readonly number[]> => {
      const found =
        deleted || since > 0
          ? await database.longQuery<{ rid: number }>(readChanged, [code, since, behind], signal)
          : await database.longQuery<{ rid: number }>(readPresent, [code, behind, code, upTo, behind], signal)
      return found.map(({ rid }) => rid)
    }
    for (let behind = after; ; ) {
      const rids = await candidates(behind)
      for (let at = 0; at < rids.length; ) {
        const some = rids.slice(at, at + PAGE)
        const params = [JSON.stringify(some), upTo, upTo, upTo, deleted ? 1 : 0, since]
        const rows = await database.longQuery<Row>(readVersions, params, signal)
        const beyond = rows.find(({ fits }) => fits === 0)
        at = beyond === undefined ? at + some.length : rids.indexOf(beyond.rid, at)
        const fitting = rows.filter(({ fits }) => fits === 1)
        if (fitting.length > 0) yield fitting.map((row) => new StoredVersion(type, { ...row, type: code }))
      }
      if (rids.length < CANDIDATES) return
      behind = rids.at(-1) as number
    }
  }

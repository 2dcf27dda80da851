/**
 * Versions of a resource, a type or the whole server, newest first. https://hl7.org/fhir/R4/http.html#history
 * Pages go by the stamp of the last entry shown: versions never change their stamp, so pages do not shift while
 * others write.
 */
import { type Sql, type SqlParam, sql } from '../database/service.ts'
import type { RowSource } from './row-source.ts'
import type { VersionRow } from './tables.ts'
import type { TypeCodes } from './type-codes.ts'
import { StoredVersion } from './version.ts'

export interface HistoryQuery {
  /** Unset: the whole server. */
  readonly type?: string | undefined
  readonly id?: string | undefined
  /** Only versions with a smaller stamp: the continuation of a page. */
  readonly before?: number | undefined
  /** Only versions made at or after this stamp. */
  readonly since?: number | undefined
  /** Only versions that were current at some moment of this half-open range of stamps. */
  readonly during?: { readonly from: number; readonly to: number } | undefined
  readonly count: number
}

export interface HistoryPage {
  readonly versions: readonly StoredVersion[]
  /** Stamp to continue before, when there is more. */
  readonly next: number | undefined
}

const MAX_STAMP = Number.MAX_SAFE_INTEGER
const PAGE_BYTES = 16 * 1024 * 1024 // stored bytes of a page: a thousand versions of the largest body would not fit in memory

/** Superseded before the range began: then it was not current during it. */
const notReplaced = (alias: string): string =>
  `NOT EXISTS (SELECT 1 FROM history n WHERE n.rid = ${alias}.rid AND n.ver = ${alias}.ver + 1 AND n.upd <= ?)
   AND NOT EXISTS (SELECT 1 FROM resource n WHERE n.rid = ${alias}.rid AND n.ver = ${alias}.ver + 1 AND n.upd <= ?)`

interface Part {
  readonly text: string
  readonly params: readonly SqlParam[]
}

/** Keys of the versions of one scope (a condition on resource, and the same on history), newest first. */
const scopeOf = (onResource: string, onHistory: string, keys: readonly SqlParam[], query: HistoryQuery): Part => {
  const { before = MAX_STAMP, since = 0, during, count } = query
  const bounds: SqlParam[] = [...keys, during === undefined ? before : Math.min(before, during.to), since]
  const replaced: SqlParam[] = during === undefined ? [] : [during.from, during.from]
  const half = (table: string, alias: string, where: string, old: number): string =>
    `SELECT * FROM (SELECT ${alias}.rid AS rid, ${alias}.ver AS ver, ${alias}.upd AS upd, ${old} AS old FROM ${table} ${alias}
      WHERE ${where} AND ${alias}.upd < ? AND ${alias}.upd >= ? ${during === undefined ? '' : `AND ${notReplaced(alias)}`}
      ORDER BY ${alias}.upd DESC LIMIT ${count + 1}) AS ${alias}x`
  return {
    text: `${half('resource', 'r', onResource, 0)} UNION ALL ${half('history', 'h', onHistory, 1)}`,
    params: [...bounds, ...replaced, ...bounds, ...replaced],
  }
}

/** Rows of a page. Those behind the first PAGE_BYTES come without their body, which then is not read either. */
const withBodies = (parts: readonly Part[], count: number): string => {
  const keys = `SELECT * FROM (${parts.map(({ text }) => text).join(' UNION ALL ')}) AS k ORDER BY upd DESC LIMIT ${count + 1}`
  const joined = 'JOIN resource r ON r.rid = v.rid LEFT JOIN history h ON h.rid = v.rid AND h.ver = v.ver AND v.old = 1'
  const size = 'coalesce(CASE WHEN v.old = 0 THEN length(r.body) ELSE length(h.body) END, 0)'
  const sized = `SELECT v.rid, v.ver, v.upd, v.old, CASE WHEN sum(${size}) OVER (ORDER BY v.upd DESC) - ${size} < ${PAGE_BYTES} THEN 1 ELSE 0 END AS fits
    FROM (${keys}) AS v ${joined}`
  return `SELECT v.rid, r.type, r.id, v.ver, v.upd, v.fits,
      CASE WHEN v.old = 0 THEN r.flags ELSE h.flags END AS flags,
      CASE WHEN v.fits = 0 THEN NULL WHEN v.old = 0 THEN r.body ELSE h.body END AS body
    FROM (${sized}) AS v ${joined} ORDER BY v.upd DESC`
}

type Row = VersionRow & { readonly fits: number }

const readUsedTypes = sql(
  'fhir.types-used',
  'SELECT t.code FROM resource_type t WHERE EXISTS (SELECT 1 FROM resource r WHERE r.type = t.code) ORDER BY t.code',
)

export const createHistory = (codes: TypeCodes) => {
  // One text per shape of query and number of types: there are few.
  const made = new Map<string, Sql>()
  const statement = (text: string): Sql => {
    const found = made.get(text) ?? sql(`fhir.history.${made.size}`, text)
    made.set(text, found)
    return found
  }
  const partsOf = async (source: RowSource, query: HistoryQuery): Promise<Part[]> => {
    const { type, id } = query
    if (type !== undefined && id !== undefined)
      return [
        scopeOf(
          'r.type = ? AND r.id = ?',
          'h.rid = (SELECT i.rid FROM resource i WHERE i.type = ? AND i.id = ?)',
          [codes.code(type) ?? 0, id],
          query,
        ),
      ]
    const scope = (code: number): Part => scopeOf('r.type = ?', 'h.type = ?', [code], query)
    if (type !== undefined) return [scope(codes.code(type) ?? 0)]
    const used = await source.all<{ code: number }>(readUsedTypes, [])
    return used.map(({ code }) => scope(code))
  }
  return async (source: RowSource, query: HistoryQuery, signal: AbortSignal): Promise<HistoryPage> => {
    const parts = await partsOf(source, query)
    if (parts.length === 0) return { versions: [], next: undefined }
    const text = statement(withBodies(parts, query.count))
    const params = parts.flatMap((part) => part.params)
    // A page of one resource or type is a few index steps; the rest may take longer than the main thread should.
    const small = query.type !== undefined && query.during === undefined
    const rows = small ? await source.all<Row>(text, params) : await source.longQuery<Row>(text, params, signal)
    const tooMuch = rows.findIndex(({ fits }) => fits === 0)
    const shown = rows.slice(0, tooMuch === -1 ? query.count : Math.min(tooMuch, query.count))
    return {
      versions: shown.map((row) => new StoredVersion(codes.name(row.type), row)),
      next: rows.length > shown.length ? shown.at(-1)?.upd : undefined,
    }
  }
}

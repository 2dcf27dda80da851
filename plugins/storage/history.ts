/**
 * Reads the history of a resource, a type or the whole server, newest first. https://hl7.org/fhir/R4/http.html#history
 * A page continues before the version time of the last entry of the page before. A version never changes its time, so pages
 * do not shift when new versions are written.
 */
import { type Sql, type SqlParam, sql } from '../database/service.ts'
import type { RowSource } from './row-source.ts'
import type { VersionRow } from './tables.ts'
import type { TypeCodes } from './type-codes.ts'
import { StoredVersion } from './version.ts'

export interface HistoryQuery {
  /** Undefined for the history of the whole server. */
  readonly type?: string | undefined
  readonly id?: string | undefined
  /** Only versions before this time, in microseconds since the epoch: where the page before ended. */
  readonly before?: number | undefined
  /** Only versions made at or after this time, in microseconds since the epoch. */
  readonly since?: number | undefined
  /** Only versions that were current at some time in this half-open range, in microseconds since the epoch. */
  readonly during?: { readonly from: number; readonly to: number } | undefined
  readonly count: number
}

export interface HistoryPage {
  readonly versions: readonly StoredVersion[]
  /** `before` of the next page; undefined if this is the last one. */
  readonly next: number | undefined
}

const MAX_STAMP = Number.MAX_SAFE_INTEGER
const PAGE_BYTES = 16 * 1024 * 1024 // stored bytes per page, because a thousand versions of the largest size exceed the memory

/** SQL condition: the version was not superseded before the range began. */
const notReplaced = (alias: string): string =>
  `NOT EXISTS (SELECT 1 FROM history n WHERE n.rid = ${alias}.rid AND n.ver = ${alias}.ver + 1 AND n.upd <= ?)
   AND NOT EXISTS (SELECT 1 FROM resource n WHERE n.rid = ${alias}.rid AND n.ver = ${alias}.ver + 1 AND n.upd <= ?)`

interface Part {
  readonly text: string
  readonly params: readonly SqlParam[]
}

/** SELECT of the version keys of one scope, newest first. The scope is a condition on each of the two tables. */
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

/** SELECT of the rows of a page. Rows after the first PAGE_BYTES have `fits` 0 and no body, so their bodies are not read. */
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
  // Statements by text. There are few: the text depends only on which parameters are set, the count and the number of types.
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
    // A page of one resource or type needs a few index steps. Other queries may take long and run off the main thread.
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

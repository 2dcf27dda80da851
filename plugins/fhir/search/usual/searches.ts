/**
 * Searches of the usual shapes: one type, a few tokens, references and strings without modifiers, newest first. All of a
 * shape is compiled when it comes first, so that a search is its values, one statement and the versions it names. What is
 * out of the ordinary is not answered here: `undefined`, and it goes the way that understands everything.
 */
import type { Eventually, Param } from '../../../database/service.ts'
import type { Source } from '../../store/source.ts'
import type { Store } from '../../store/store.ts'
import type { VersionRow } from '../../store/tables.ts'
import type { StoredVersion } from '../../store/version.ts'
import type { Executor } from '../execute.ts'
import type { Registry } from '../registry.ts'
import { type Clause, compileClause } from './clause.ts'
import type { UsualQuery } from './query.ts'
import { MORE, STRAYS, toStatement, type UsualStatement } from './statement.ts'

const MOST_SHAPES = 1_000

interface Shape {
  readonly clauses: readonly Clause[]
  readonly statement: UsualStatement
}

export interface UsualSearches {
  /** At most `limit` matches, the newest first. */
  find(
    type: string,
    query: UsualQuery,
    baseUrl: string,
    limit: number,
  ): Eventually<readonly StoredVersion[] | undefined>
}

export interface UsualParts {
  readonly source: Pick<Source, 'all'>
  readonly registry: Registry
  readonly store: Pick<Store, 'held'>
  readonly executor: Pick<Executor, 'version' | 'fetch'>
  readonly isPostgres: boolean
}

type BriefRow = Pick<VersionRow, 'rid' | 'ver'>

export const createUsualSearches = ({ source, registry, store, executor, isPostgres }: UsualParts): UsualSearches => {
  let shapes = new Map<string, Shape | null>()
  let made = 0
  let parameters = registry.state

  const compile = (type: string, names: string): Shape | null => {
    const known = registry.parameters(type)
    const clauses: Clause[] = []
    for (const name of names.slice(0, -1).split('&')) {
      const parameter = known.get(name)
      // Another server may have changed what a name means.
      if (parameter === undefined || (isPostgres && !registry.isPlain(name))) return null
      const clause = compileClause(parameter, registry.hasher)
      if (clause === undefined) return null
      clauses.push(clause)
    }
    made += 1
    const statement = toStatement(`search.usual.${made}`, clauses, isPostgres)
    return statement === undefined ? null : { clauses, statement }
  }
  const shapeOf = (type: string, names: string): Shape | null => {
    if (parameters !== registry.state || shapes.size >= MOST_SHAPES) {
      shapes = new Map()
      parameters = registry.state
    }
    const key = `${type}?${names}`
    const found = shapes.get(key)
    if (found !== undefined) return found
    const shape = compile(type, names)
    shapes.set(key, shape)
    return shape
  }

  /** In the order of the statement. */
  const paramsOf = (
    { clauses, statement }: Shape,
    values: readonly string[],
    baseUrl: string,
    limit: number,
  ): readonly Param[] | undefined => {
    const bound: (readonly Param[])[] = []
    for (const [at, clause] of clauses.entries()) {
      const params = clause.bind(values[at] as string, baseUrl)
      if (params === undefined) return undefined
      bound.push(params)
    }
    const first = bound[statement.driver] as readonly Param[]
    const { finds } = clauses[statement.driver] as Clause
    const found = finds === first.length ? first : first.slice(0, finds)
    const params: Param[] = [...found]
    for (const at of statement.checked) params.push(...(bound[at] as readonly Param[]))
    params.push(limit)
    if (statement.hasStrays) params.push(...first.slice(finds))
    if (statement.hasMore) params.push(...found)
    return params
  }

  /** Takes out the rows that say that something is missing; false when it is. */
  const isWhole = (rows: BriefRow[], limit: number): boolean => {
    let more = false
    while (rows.length > 0 && (rows.at(-1) as BriefRow).rid < 0) {
      const { rid } = rows.pop() as BriefRow
      if (rid === STRAYS) return false
      more ||= rid === MORE
    }
    return !more || rows.length >= limit
  }

  /** From the versions kept in memory; those that are not are read. */
  const versionsOf = (rows: readonly BriefRow[]): Eventually<readonly StoredVersion[] | undefined> => {
    const found: (StoredVersion | undefined)[] = []
    const missing: number[] = []
    for (const { rid, ver } of rows) {
      const held = store.held(rid, ver)
      found.push(held)
      if (held === undefined) missing.push(rid)
    }
    if (missing.length === 0) return found as StoredVersion[]
    const fill = (read: readonly VersionRow[]): readonly StoredVersion[] | undefined => {
      const byRid = new Map(read.map((row) => [row.rid, row]))
      for (const [at, { rid, ver }] of rows.entries()) {
        if (found[at] !== undefined) continue
        const row = byRid.get(rid)
        // Changed since: whether it still is a match is not known.
        if (row?.ver !== ver) return undefined
        found[at] = executor.version(row)
      }
      return found as StoredVersion[]
    }
    const read = executor.fetch(missing)
    return read instanceof Promise ? read.then(fill) : fill(read)
  }

  const toVersions = (
    rows: (BriefRow | VersionRow)[],
    limit: number,
  ): Eventually<readonly StoredVersion[] | undefined> => {
    // The parts of the statement come one after the other; the first is in no order that is promised.
    if (rows.length > 1) rows.sort((one, other) => other.rid - one.rid)
    if (!isWhole(rows, limit)) return undefined
    return isPostgres ? (rows as VersionRow[]).map(executor.version) : versionsOf(rows)
  }

  return {
    find(type, query, baseUrl, limit) {
      const shape = shapeOf(type, query.names)
      if (shape === null) return undefined
      const params = paramsOf(shape, query.values, baseUrl, limit)
      if (params === undefined) return undefined
      const rows = source.all<BriefRow | VersionRow>(shape.statement.sql, params)
      return rows instanceof Promise ? rows.then((all) => toVersions(all, limit)) : toVersions(rows, limit)
    },
  }
}

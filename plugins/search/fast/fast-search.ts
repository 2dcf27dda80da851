/**
 * Performs searches of frequent shapes: one type, a few tokens, references and strings without modifiers, newest
 * first. A shape is compiled at its first use, so that a search only binds its values, runs one statement and reads
 * the versions it returns. For any other search the result is `undefined`, and the general search
 * (plan/search-page.ts) performs it.
 */
import type { OwnUrl } from '../../../kernel/index.ts'
import { chain, type MaybePromise, type SqlParam } from '../../database/service.ts'
import type { RowSource, StoredVersion, VersionRow, VersionStore } from '../../storage/service.ts'
import type { Registry } from '../index/registry.ts'
import type { Executor } from '../plan/executor.ts'
import type { StatementCache } from '../sql/statements.ts'
import { type CompiledClause, compileClause, compilePatientCodeClause } from './compiled-clause.ts'
import { ABSOLUTE_LEFT_OUT, type CompiledStatement, MAX_SCANNED_ROWS, MORE, toStatement } from './compiled-statement.ts'
import type { CachedPage, PageCache, PageUrls } from './page-cache.ts'
import type { SimpleQuery } from './simple-query.ts'

const MAX_SHAPES = 1_000
/** A search that has to be repeated by the general search costs as much credit as so many successful ones earn. */
const COST_OF_MISS = 8
const MAX_CREDIT = 64
/**
 * Share of searches with a missing version above which bodies are read at once, and the weight of one search in that
 * share.
 */
const OFTEN = 0.3
const MEMORY = 0.02

interface Shape {
  readonly clauses: readonly CompiledClause[]
  readonly statement: CompiledStatement
  /** Below zero the shape failed too often and is no longer tried. */
  credit: number
}

/** One search. */
export interface FastRequest {
  readonly url: string
  readonly type: string
  /** The base URL of cached entries. */
  readonly baseUrl: string
  readonly ownUrl: OwnUrl | undefined
  readonly query: SimpleQuery
  /** Most matches on the page. */
  readonly count: number
}

export interface FastSearch {
  /**
   * The matches of a page, newest first, with one more than `count` when there are more. Undefined when the general
   * search has to perform it.
   */
  find(asked: FastRequest): Found
  /** The cached page of this address, as long as it is valid. */
  cached(url: string, type: string, urls: PageUrls): CachedPage | undefined
  /** The matches of a cached page. Undefined when one of them was changed just now. */
  versions(page: CachedPage): Found
  readonly answered: PageCache['answered']
}

export interface FastSearchParts {
  readonly source: Pick<RowSource, 'all'>
  readonly registry: Registry
  readonly store: Pick<VersionStore, 'getVersion'>
  readonly executor: Pick<Executor, 'unheld' | 'fetch'>
  readonly statements: StatementCache
  /** NO_PAGES when other processes may write, or when nothing is cached. */
  readonly pages: PageCache
  readonly isPostgres: boolean
}

type BriefRow = Pick<VersionRow, 'rid' | 'ver'>
type Found = MaybePromise<readonly StoredVersion[] | undefined>

export const createFastSearch = (parts: FastSearchParts): FastSearch => {
  const { source, registry, store, executor, statements, pages, isPostgres } = parts
  let shapes = new Map<string, Shape | null>()
  let state = registry.state

  /** Replaces a reference clause and a token clause by one where a column combines both. */
  const pair = (clauses: readonly CompiledClause[]): readonly CompiledClause[] => {
    for (const one of clauses)
      for (const other of clauses) {
        const [reference, token] = [one.columns[0], other.columns[0]]
        if (one.table !== 'ix_ref' || other.table !== 'ix_token' || other.columns.length > 1) continue
        const column = registry.state.pairOf(reference as number, token as number)
        if (column === undefined) continue
        return [
          compilePatientCodeClause(column, one, other),
          ...clauses.filter((each) => each !== one && each !== other),
        ]
      }
    return clauses
  }
  const compile = (type: string, names: string): Shape | null => {
    const known = registry.parameters(type)
    const clauses: CompiledClause[] = []
    for (const [at, name] of names.slice(0, -1).split('&').entries()) {
      const parameter = known.get(name)
      // Another server may have changed the meaning of a name.
      if (parameter === undefined || (isPostgres && !registry.isPlain(name))) return null
      const clause = compileClause(parameter, at, registry.hasher)
      if (clause === undefined) return null
      clauses.push(clause)
    }
    const paired = pair(clauses)
    const statement = toStatement(statements, paired, isPostgres ? 'postgres' : 'sqlite')
    return { clauses: paired, statement, credit: MAX_CREDIT }
  }
  const shapeOf = (type: string, names: string): Shape | null => {
    if (state !== registry.state || shapes.size >= MAX_SHAPES) {
      shapes = new Map()
      state = registry.state
    }
    const key = `${type}?${names}`
    const found = shapes.get(key)
    if (found !== undefined) return found
    const shape = compile(type, names)
    shapes.set(key, shape)
    return shape
  }

  /** Share of recent searches with a version that was not cached. */
  let missed = 1
  const isFull = (rows: readonly (BriefRow | VersionRow)[]): rows is readonly VersionRow[] =>
    rows[0] !== undefined && 'body' in rows[0]

  /** Takes versions from the cache and reads the others. */
  const versionsOf = (rows: readonly (BriefRow | VersionRow)[]): Found => {
    const found: (StoredVersion | undefined)[] = []
    const missing: number[] = []
    for (const { rid, ver } of rows) {
      const held = store.getVersion(rid, ver)
      found.push(held)
      if (held === undefined) missing.push(rid)
    }
    missed += (Math.sign(missing.length) - missed) * MEMORY
    if (missing.length === 0) return found as StoredVersion[]
    if (isFull(rows)) return rows.map((row, at) => found[at] ?? executor.unheld(row))
    return chain(executor.fetch(missing), (read) => {
      const byRid = new Map(read.map((row) => [row.rid, row]))
      for (const [at, { rid, ver }] of rows.entries()) {
        if (found[at] !== undefined) continue
        const row = byRid.get(rid)
        // The resource has changed since, so it may no longer match.
        if (row?.ver !== ver) return undefined
        found[at] = executor.unheld(row)
      }
      return found as StoredVersion[]
    })
  }

  /** Sorts and removes repeats and extra rows. Undefined when rows that may match were left out. */
  const wholePage = <R extends BriefRow>(
    rows: R[],
    { isCollected }: CompiledStatement,
    limit: number,
  ): R[] | undefined => {
    // The parts of a UNION ALL come in any order.
    if (rows.length > 1) rows.sort(newestFirst)
    if (isCollected) {
      if (rows.length > MAX_SCANNED_ROWS) return undefined
      return rows.length < 2 ? rows : rows.filter(({ rid }, at) => rows[at - 1]?.rid !== rid).slice(0, limit)
    }
    let more = false
    while (rows.length > 0 && (rows.at(-1) as R).rid < 0) {
      const { rid } = rows.pop() as R
      if (rid === ABSOLUTE_LEFT_OUT) return undefined
      more ||= rid === MORE
    }
    return more && rows.length < limit ? undefined : rows
  }

  /** The parameters of each clause. Undefined for a value that only the general search handles. */
  const bindAll = (
    { clauses }: Shape,
    values: readonly string[],
    ownUrl: OwnUrl | undefined,
  ): readonly (readonly SqlParam[])[] | undefined => {
    const bound: (readonly SqlParam[])[] = []
    for (const clause of clauses) {
      const params = clause.bind(values, ownUrl)
      if (params === undefined) return undefined
      bound.push(params)
    }
    return bound
  }
  const paramsOf = (
    clauses: readonly CompiledClause[],
    { driver, checked, isCollected, notesAbsolute, notesMore }: CompiledStatement,
    bound: readonly (readonly SqlParam[])[],
    limit: number,
  ): SqlParam[] => {
    const first = bound[driver] as readonly SqlParam[]
    const { finds } = clauses[driver] as CompiledClause
    const params = first.slice(0, finds)
    for (const at of checked) params.push(...(bound[at] as readonly SqlParam[]))
    if (!isCollected) params.push(limit)
    if (notesAbsolute) for (let at = finds; at < first.length; at += 1) params.push(first[at] as SqlParam)
    if (notesMore) for (let at = 0; at < finds; at += 1) params.push(first[at] as SqlParam)
    return params
  }
  const keep = (
    { url, type, baseUrl, ownUrl, query, count }: FastRequest,
    { clauses, statement: { driver } }: Shape,
    bound: readonly (readonly SqlParam[])[],
    rows: readonly BriefRow[],
  ): void => {
    const keys = (clauses[driver] as CompiledClause).keys(bound[driver] as readonly SqlParam[])
    const { text } = query
    pages.put(url, { type, baseUrl, ownUrl, meaning: registry.state, keys, text, count, rows })
  }

  return {
    cached: (url, type, urls) => pages.get(url, type, urls, registry.state),
    versions: ({ rows }) => versionsOf(rows),
    answered: pages.answered,
    find(asked) {
      const { type, query, ownUrl, count } = asked
      const shape = shapeOf(type, query.names)
      if (shape === null || shape.credit < 0) return undefined
      const bound = bindAll(shape, query.values, ownUrl)
      if (bound === undefined) return undefined
      const { statement } = shape
      // When versions are often not cached, one statement with the bodies is faster than two.
      const sql = missed > OFTEN ? (statement.withBodies ?? statement.sql) : statement.sql
      let isNow = true
      const found = chain(
        source.all<BriefRow | VersionRow>(sql, paramsOf(shape.clauses, statement, bound, count + 1)),
        (rows) => {
          const page = wholePage(rows, statement, count + 1)
          shape.credit = page === undefined ? shape.credit - COST_OF_MISS : Math.min(shape.credit + 1, MAX_CREDIT)
          if (page === undefined) return undefined
          // Cached only if the result was synchronous: after a wait, data may have changed.
          if (isNow) keep(asked, shape, bound, page)
          return versionsOf(page)
        },
      )
      isNow = false
      return found
    },
  }
}

const newestFirst = (one: BriefRow, other: BriefRow): number => other.rid - one.rid

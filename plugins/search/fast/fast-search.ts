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
import { bindAll, paramsOf } from './bind-shape.ts'
import type { CompiledClause } from './compiled-clause.ts'
import type { CachedPage, PageCache, PageUrls } from './page-cache.ts'
import { createShapes, MAX_CREDIT, type Shape } from './shapes.ts'
import type { SimpleQuery } from './simple-query.ts'
import { type BriefRow, wholePage } from './whole-page.ts'

/** A search that has to be repeated by the general search costs as much credit as so many successful ones earn. */
const COST_OF_MISS = 8
/**
 * Share of searches with a missing version above which bodies are read at once, and the weight of one search in that
 * share.
 */
const OFTEN = 0.3
const MEMORY = 0.02

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
  /** NO_PAGES where nothing is cached. */
  readonly pages: PageCache
  readonly isPostgres: boolean
}

type Found = MaybePromise<readonly StoredVersion[] | undefined>

export const createFastSearch = (parts: FastSearchParts): FastSearch => {
  const { source, registry, store, executor, statements, pages, isPostgres } = parts
  const shapeOf = createShapes(registry, statements, isPostgres)

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

  /** To be called before a search. The returned function caches its page. */
  const keeper = (
    { url, type, baseUrl, ownUrl, query, count }: FastRequest,
    { clauses, statement: { driver } }: Shape,
    bound: readonly (readonly SqlParam[])[],
  ): ((rows: readonly BriefRow[]) => void) | undefined => {
    const keys = (clauses[driver] as CompiledClause).keys(bound[driver] as readonly SqlParam[])
    const changes = pages.look(keys)
    if (changes === undefined) return undefined
    // The state when the search begins, which `get` compares.
    const meaning = registry.state
    const { text } = query
    return (rows) => pages.put(url, { type, baseUrl, ownUrl, meaning, keys, changes, text, count, rows })
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
      // When the versions that are found are often missing in the version cache, one statement that also reads their bodies
      // is faster than a second one for the bodies.
      const sql = missed > OFTEN ? (statement.withBodies ?? statement.sql) : statement.sql
      const keep = keeper(asked, shape, bound)
      let isNow = true
      const found = chain(
        source.all<BriefRow | VersionRow>(sql, paramsOf(shape.clauses, statement, bound, count + 1)),
        (rows) => {
          const page = wholePage(rows, statement, count + 1)
          shape.credit = page === undefined ? shape.credit - COST_OF_MISS : Math.min(shape.credit + 1, MAX_CREDIT)
          if (page === undefined) return undefined
          // On SQLite a result that was waited for is not cached: changes meanwhile are not marked there.
          if (isNow || isPostgres) keep?.(page)
          return versionsOf(page)
        },
      )
      isNow = false
      return found
    },
  }
}

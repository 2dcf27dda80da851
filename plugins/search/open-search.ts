/**
 * Puts the search of one server together: the registry of parameters, the index writer, the planner and the backfill.
 */
import type { Clock, Logger, Random } from '../../kernel/index.ts'
import { type Database, sql, type Transaction } from '../database/service.ts'
import type { Members, ReferenceWalker } from '../model/service.ts'
import type { Definitions } from '../packages/service.ts'
import { type GapSource, type RowSource, rowSourceOf, type VersionStore } from '../storage/service.ts'
import { createImpliedSystems } from './definition/implied-systems.ts'
import type { SearchDefinitions } from './definition/stored-definitions.ts'
import { createFastSearch, type FastSearch } from './fast/fast-search.ts'
import { createPageCache, NO_PAGES } from './fast/page-cache.ts'
import { createBackfill } from './index/backfill/backfill.ts'
import { type BackfillWorker, createBackfillWorker } from './index/backfill/backfill-worker.ts'
import { createReindex, type Reindex } from './index/backfill/reindex.ts'
import { createChangeCounters, createOverlappingCounters } from './index/change-counters.ts'
import { createFullTextIndex, type FullTextIndex } from './index/full-text/text-index.ts'
import type { FullTextMode } from './index/full-text/text-state.ts'
import { createIndexWriter, type IndexWriter } from './index/index-writer.ts'
import { createLayoutComparison, createLayoutGate } from './index/layout.ts'
import { openRegistry } from './index/registry.ts'
import type { Waiting } from './index/settings.ts'
import { readUsedTypes } from './index/tables.ts'
import { createExecutor } from './plan/executor.ts'
import { createQueryTrace } from './plan/explain.ts'
import { createIncluder } from './plan/include.ts'
import { createPlanner } from './plan/plan.ts'
import type { WatchPlans } from './plan/plan-summary.ts'
import type { PlannedSearch } from './plan/planned-search.ts'
import { createReferred } from './plan/referred.ts'
import { createPlanRefiner } from './plan/refine.ts'
import { createRowEstimates } from './plan/row-estimates.ts'
import type { CodeExpander } from './query/code-expander.ts'
import { createContainedCriteria } from './query/contained/contained-criteria.ts'
import { createCriteria } from './query/criteria.ts'
import type { Plan } from './query/plan-contract.ts'
import { createReferenceJoins } from './query/reference-join.ts'
import { q } from './sql/fragment.ts'
import { createStatementCache } from './sql/statements.ts'

export interface Search extends PlannedSearch {
  readonly index: IndexWriter
  /** Answers searches of frequent shapes from compiled statements. Undefined in a transaction. */
  readonly fast: FastSearch | undefined
  within(transaction: Transaction): Search
  /** Fills columns that were added after resources had been stored. */
  readonly backfillWorker: BackfillWorker
  /** The full-text index, which is rebuilt at the start when the setting `full_text` has changed. */
  readonly fullText: FullTextIndex
  readonly reindex: Reindex
}

export interface SearchParts {
  readonly database: Database
  readonly random: Random
  readonly clock: Clock
  readonly log: Logger
  readonly model: SearchDefinitions
  /** Concrete resource types. */
  readonly typeNames: readonly string[]
  readonly members: () => Promise<Members>
  /** Code systems whose codes are compared without case. */
  readonly caseless: readonly string[]
  readonly referenceWalker: ReferenceWalker
  readonly store: VersionStore
  readonly definitions: Pick<Definitions, 'find'>
  readonly fullTextMode: FullTextMode
  /** Most bytes of resources that the version cache holds. 0 turns the cache of search pages off as well. */
  readonly cacheBytes: number
  readonly terminology?: CodeExpander | undefined
  readonly waiting: Waiting
  readonly feed: GapSource
  readonly watchPlans?: WatchPlans | undefined
}

const MAX_SYSTEMS = 64
/** One page may be cached for each so many bytes of the version cache. */
const BYTES_OF_PAGE = 8_192
const nextSystem = sql(
  'search.next-system',
  'SELECT x.sys FROM ix_token x WHERE x.param = ? AND x.val = ? AND x.sys > ? ORDER BY x.sys LIMIT 1',
)

export const openSearch = async (parts: SearchParts): Promise<Search> => {
  const { database, clock, log, store, terminology } = parts
  const { types } = store
  const registry = await openRegistry({ ...parts, types: parts.typeNames, codeOf: types.code })
  const impliedSystemsOf = createImpliedSystems(parts.definitions)
  const statements = createStatementCache()
  const fullText = createFullTextIndex(database, parts.fullTextMode)
  const shared = database.kind === 'postgres'
  const counters = () => (shared ? createOverlappingCounters(database.isSole, parts.feed) : createChangeCounters())
  const changes = parts.cacheBytes === 0 ? undefined : counters()
  const pages =
    changes === undefined
      ? NO_PAGES
      : createPageCache(changes, Math.ceil(parts.cacheBytes / BYTES_OF_PAGE), parts.cacheBytes / 2)
  const index = fullText.beside(
    createIndexWriter(registry, types.code, createLayoutComparison(database, registry), changes),
  )
  const gate = createLayoutGate({ database, registry, clock })
  const backfill = createBackfill({ database, registry, rows: index, types, clock, gate })
  const backfillWorker = createBackfillWorker({
    ...{ registry, backfill, words: fullText, clock, log, shared },
    fills: !database.isReader,
  })
  const catchUp = async (names: readonly string[]): Promise<boolean> => {
    // A parameter in `_sort` may begin with a minus.
    const words = names.flatMap((name) => name.split(/[^A-Za-z0-9_-]+-?|^-/))
    const isKnown = !names.includes('*') && words.every((word) => word === '' || registry.isPlain(word))
    return isKnown ? false : registry.refresh()
  }
  const rowEstimates = createRowEstimates(store.newestResourceKey)
  /** `isCommitted`: nothing that the source shows can be rolled back. */
  const over = (source: RowSource, terms: CodeExpander | undefined, isCommitted: boolean): Search => {
    const isWhole = source === database
    const planner = createPlanner(source, statements, isCommitted ? rowEstimates : undefined)

    /** Finds the systems of one code by seeking from each to the next in the index key: one seek for each system. */
    const codeSystemsOf = async (params: readonly number[], value: number): Promise<readonly number[] | undefined> => {
      const systems = new Set<number>()
      for (const param of params) {
        // SQLite runs a few seeks faster than it sets up a recursive query; over a network one statement is faster.
        if (database.kind !== 'postgres') {
          let last = Number.MIN_SAFE_INTEGER
          while (systems.size <= MAX_SYSTEMS) {
            const row = await source.get<{ sys: number }>(nextSystem, [param, value, last])
            if (row === undefined) break
            systems.add(row.sys)
            last = row.sys
          }
          continue
        }
        const { text, params: values } =
          q`WITH RECURSIVE s(sys) AS (SELECT min(x.sys) FROM ix_token x WHERE x.param = ${param} AND x.val = ${value} UNION ALL SELECT (SELECT min(x.sys) FROM ix_token x WHERE x.param = ${param} AND x.val = ${value} AND x.sys > s.sys) FROM s WHERE s.sys IS NOT NULL) SELECT sys FROM s WHERE sys IS NOT NULL LIMIT ${MAX_SYSTEMS + 1}`
        const rows = await source.all<{ sys: number }>(statements(text), values)
        for (const { sys } of rows) systems.add(sys)
      }
      return systems.size > MAX_SYSTEMS ? undefined : [...systems]
    }

    const referenceJoins = createReferenceJoins(source, statements, registry)
    const refine = createPlanRefiner(isCommitted ? rowEstimates : undefined)
    const asked = {
      registry,
      planner,
      measure: (plan: Plan) =>
        refine(plan, ({ text, params }) => source.longQuery<Record<string, number>>(statements(text), params), true),
      types,
      typeNames: parts.typeNames,
      dialect: database.kind === 'postgres' ? 'postgres' : 'sqlite',
      codeSystemsOf,
      impliedSystemsOf,
      referenceJoins,
      fullText,
      terminology: terms,
      isInside: !isCommitted,
    } as const
    const criteria = createCriteria(asked)
    const executor = createExecutor(source, types, statements, isCommitted ? store : undefined, refine)
    const { text: newestText } = q`SELECT max(rid) AS rid FROM resource`
    return {
      registry,
      index,
      criteria,
      terminology: terms,
      fast: isWhole
        ? createFastSearch({ source, registry, store, executor, statements, pages, isPostgres: shared })
        : undefined,
      containedCriteria: createContainedCriteria(asked, criteria),
      planner,
      executor,
      includer: createIncluder({ registry, criteria, executor, types, referenceJoins }),
      referred: createReferred({ registry, executor, typeNames: parts.typeNames }),
      async snapshotKey() {
        // On SQLite only this process writes, so it knows the newest key without a query.
        if (isCommitted && database.kind !== 'postgres') return store.newestResourceKey()
        const row = await source.get<{ rid: number | null }>(statements(newestText), [])
        const newest = Number(row?.rid ?? 0)
        if (isCommitted) store.noticeResourceKey(newest)
        return newest
      },
      async usedTypes() {
        const rows = await source.all<{ code: number }>(readUsedTypes, [])
        return rows.map(({ code }) => types.name(code))
      },
      // No terminology inside a transaction: it would read outside it, and might wait for its end. No caches either,
      // because the transaction may be rolled back.
      within: (transaction) => over(rowSourceOf(transaction), undefined, false),
      inSnapshot:
        isWhole && database.isReader
          ? (work) => database.reading((opened) => work(over(rowSourceOf(opened), terms, true)))
          : undefined,
      backfillWorker,
      fullText,
      reindex: createReindex({ database, registry, backfill, types, words: fullText, clock }),
      watchPlans: parts.watchPlans,
      tracer: () => createQueryTrace(source, statements, shared ? 'postgres' : 'sqlite', clock),
      refreshDefinitions: shared ? catchUp : undefined,
    }
  }
  return over(database, terminology, true)
}

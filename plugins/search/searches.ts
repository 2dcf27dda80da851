/** The service `Searches`: the search as other plugins see it, and its opening at the start of the server. */
import { type Clock, defineService, type Logger, type Random } from '../../kernel/index.ts'
import type { ChangeFeed, Database } from '../database/service.ts'
import type { Model } from '../model/service.ts'
import type { Definitions } from '../packages/service.ts'
import type { ChangeObserver, Storage, WriteCheck } from '../storage/service.ts'
import { createAccessEvaluator } from './access/access-evaluator.ts'
import type { AccessEvaluator } from './access/access-evaluator-interface.ts'
import { loadModel } from './definition/load-model.ts'
import { columnsOfScope } from './index/backfill/reindex.ts'
import { createClientParameterCheck } from './index/client-parameter-check.ts'
import { type CountTypes, createCountTypes } from './index/count-types.ts'
import type { FullTextMode } from './index/full-text/text-state.ts'
import { createPatientSubjects, type PatientSubjects } from './index/patient-subjects.ts'
import { SEARCH_PARAMETER } from './index/posted-parameters.ts'
import type { Reindexing } from './index/reindexing.ts'
import { openSearch, type Search } from './open-search.ts'
import { createReadAsOf, type ReadAsOf } from './plan/as-of.ts'
import type { BesideSource } from './plan/beside/beside-source.ts'
import { createBeside } from './plan/beside/beside-subjects.ts'
import type { WatchPlans } from './plan/plan-summary.ts'
import type { SearchView } from './plan/search-view.ts'
import type { CodeExpander } from './query/code-expander.ts'
import { createReferences, type References } from './reference-index.ts'
import { createSearchReads, type SearchReads } from './search-reads.ts'

export interface OpenedSearches {
  readonly search: Search
  /**
   * Makes the searches. `page`: the default number of entries on a page, and the most that `_count` may request. `beside`:
   * what searches with `SearchQuery.beside` show as well.
   */
  reads(page: SearchView['page'], beside?: BesideSource): SearchReads
  readonly access: AccessEvaluator
  readonly references: References
  /** Finds the patients whose data a resource is. */
  readonly patients: PatientSubjects
  /** Counts the resources of each type. */
  readonly countTypes: CountTypes
  /** Reads versions that were current at an earlier time. Access has to be checked by the caller. */
  readonly readAsOf: ReadAsOf
}

export interface Searches {
  /** Throws until the plugin has started. */
  readonly opened: OpenedSearches
  /** Whether the plugin has started. */
  readonly isOpen: boolean
  /** In setup only: hears of the plan of each planned search. */
  watchPlans(watch: WatchPlans): void
}

export const Searches = defineService<Searches>('search')

export interface SearchesParts {
  readonly database: Database
  readonly feed: ChangeFeed
  readonly definitions: Definitions
  readonly model: Model
  readonly storage: Storage
  /** The setting `[fhir] full_text`. */
  readonly fullTextMode: FullTextMode
  readonly terminology: CodeExpander | undefined
  readonly clock: Clock
  readonly random: Random
  readonly log: Logger
  readonly busy: (reason: string) => void
  /** Aborted when the server is stopped during its start. */
  readonly signal: AbortSignal
}

export interface LateSearches {
  readonly service: Searches
  /** Updates the index with every write, in the same transaction. */
  readonly observer: ChangeObserver
  /** Checks SearchParameters that clients post. */
  readonly posted: WriteCheck
  readonly reindexing: Reindexing
  /** Another server may have changed search parameters or columns. */
  lookSoon(): void
  open(parts: SearchesParts): Promise<void>
  close(): Promise<void>
}

export const createSearches = (): LateSearches => {
  let opened: OpenedSearches | undefined
  let writing: { readonly observer: ChangeObserver; readonly posted: WriteCheck } | undefined
  let close: () => Promise<void> = async () => undefined
  let lookSoon = (): void => undefined
  let deferred = false
  let watchPlans: WatchPlans | undefined
  const service: Searches = {
    get opened() {
      if (opened === undefined) throw new Error('the search is asked for before its start')
      return opened
    },
    get isOpen() {
      return opened !== undefined
    },
    watchPlans(watch) {
      watchPlans = watch
    },
  }
  const written = () => {
    if (writing === undefined) throw new Error('something is written before the start of the search')
    return writing
  }
  return {
    service,
    observer: {
      write: (transaction, next, resource, previous, findings) =>
        written().observer.write(transaction, next, resource, previous, findings),
      erase: (transaction, versions) => written().observer.erase?.(transaction, versions),
      committed: (versions) => written().observer.committed(versions),
      lookAgain: async () => written().observer.lookAgain?.(),
      patients: (change, ownUrl) => written().observer.patients(change, ownUrl),
    },
    posted: {
      name: 'search parameters',
      type: SEARCH_PARAMETER,
      checkContent: (incoming) => written().posted.checkContent?.(incoming),
      checkInTransaction: (request, transaction, changes) =>
        written().posted.checkInTransaction?.(request, transaction, changes) ?? [],
      afterCommit: (changes) => written().posted.afterCommit?.(changes),
    },
    reindexing: {
      deferIndexing() {
        deferred = true
      },
      async checkScope(scope) {
        const { registry } = service.opened.search
        await registry.refresh()
        columnsOfScope(registry, scope)
      },
      reindex: (scope, watch, run) => service.opened.search.reindex(scope, watch, run),
    },
    lookSoon: () => lookSoon(),
    async open(parts) {
      const { database, definitions, clock, log, busy, signal } = parts
      const { catalog, links } = parts.model
      const { store, cacheBytes } = parts.storage
      const { model, caseless } = await loadModel(catalog, definitions, log)
      const typeNames = [...catalog.types.keys()]
      const types = new Set(typeNames)
      const { members } = catalog
      const search = await openSearch({
        ...parts,
        model,
        caseless,
        typeNames,
        members,
        referenceWalker: links,
        store,
        cacheBytes,
        watchPlans,
        waiting: { signal, onWait: () => busy('waiting for the catalog of the primary') },
      })
      const { registry, backfillWorker } = search
      if (!deferred) {
        busy('search indexes backfilling')
        await backfillWorker.complete(signal)
        await search.fullText.complete(signal)
        if (signal.aborted) return
        backfillWorker.start()
        close = () => backfillWorker.stop()
        lookSoon = backfillWorker.lookSoon
      }
      const patients = createPatientSubjects(model)
      const isEmbedded = database.kind !== 'postgres'
      opened = {
        search,
        reads: (page, beside) =>
          createSearchReads({
            ...{ search, store, catalog, clock, page },
            beside: beside === undefined ? undefined : createBeside(beside, registry),
          }),
        access: createAccessEvaluator({ search, store, now: () => clock.now(), types, referenceWalker: links }),
        references: createReferences({ referenceWalker: links, registry, types: store.types, isEmbedded }),
        patients,
        countTypes: createCountTypes(database, store.types),
        readAsOf: createReadAsOf({ database, types: store.types }),
      }
      writing = {
        observer: {
          ...search.index,
          lookAgain: async () => void (await registry.refresh()),
          patients: patients.ofChange,
        },
        posted: createClientParameterCheck({ registry, indexer: backfillWorker, store, types }),
      }
    },
    close: () => close(),
  }
}

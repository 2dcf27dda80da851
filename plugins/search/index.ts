/**
 * The plugin `search`: it keeps the search index, performs searches, and limits their results to what a caller may
 * see.
 */
import { definePlugin } from '../../kernel/index.ts'
import { ChangeFeed, Database, isNote } from '../database/service.ts'
import { Model } from '../model/service.ts'
import { Definitions } from '../packages/service.ts'
import { Storage } from '../storage/service.ts'
import { fhirSection } from './config.ts'
import * as errors from './errors.ts'
import { exactMigrations, foldedMigrations } from './index/exact-migrations.ts'
import { fullTextMigrations } from './index/full-text/text-tables.ts'
import { Reindexing } from './index/reindexing.ts'
import { displayMigrations, searchMigrations } from './index/tables.ts'
import { CodeExpander } from './query/code-expander.ts'
import { createSearches, Searches } from './searches.ts'

export default definePlugin({
  name: 'search',
  description: 'Indexes resources and finds them again',
  config: { fhir: fhirSection },
  needs: { database: Database, feed: ChangeFeed, definitions: Definitions, model: Model, storage: Storage },
  provides: [Searches, Reindexing],
  migrations: [
    ...searchMigrations,
    ...fullTextMigrations,
    ...displayMigrations,
    ...exactMigrations,
    ...foldedMigrations,
  ],
  errors,
  setup({ needs, optional, provide, clock, random, log, busy, config: { fhir } }) {
    const searches = createSearches()
    provide(Searches, searches.service)
    provide(Reindexing, searches.reindexing)
    needs.storage.observe(searches.observer)
    needs.storage.check(searches.posted)
    needs.feed.listen({
      name: 'search parameters',
      commit({ published }) {
        if (published.some((one) => isNote(one) && one.about === 'search-columns')) searches.lookSoon()
      },
      gap: searches.lookSoon,
    })
    return {
      async start(signal) {
        // Resolved at the start, because the plugin that provides the terminology may itself depend on this one.
        const terminology = optional(CodeExpander)
        const fullTextMode = fhir.full_text
        await searches.open({ ...needs, fullTextMode, terminology, clock, random, log, busy, signal })
      },
      stop: () => searches.close(),
    }
  },
})

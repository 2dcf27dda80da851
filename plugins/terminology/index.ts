/** Terminology: value sets and code systems of the packages, and those that users store. */
import { definePlugin } from '../../kernel/index.ts'
import { ChangeFeed, Database, isNote } from '../database/service.ts'
import { Fhir, Resources } from '../fhir/service.ts'
import { Definitions } from '../packages/service.ts'
import { addOperations } from './add-operations.ts'
import { terminologySection } from './config.ts'
import * as errors from './errors.ts'
import { createDefinitionFinder } from './find.ts'
import { createFreshness } from './freshness.ts'
import { withImplicitValueSets } from './implicit/implicit-value-sets.ts'
import { openIndex } from './indexed/open-index.ts'
import { migrations } from './migrations.ts'
import { createPuller } from './pull/puller.ts'
import { Terminology, TerminologyIndex, TerminologyPull } from './service.ts'
import { createFindStored } from './stored-canonicals.ts'
import { createTerminology } from './terminology.ts'
import { withBuiltIns } from './with-built-ins.ts'

const [OURS, NOTES] = [new Set(['ValueSet', 'CodeSystem']), new Set(['packages', 'terminology'])]

export default definePlugin({
  name: 'terminology',
  description: 'Expands value sets and follows the hierarchies of code systems',
  config: { terminology: terminologySection },
  needs: { definitions: Definitions, fhir: Fhir, feed: ChangeFeed, database: Database },
  provides: [Terminology, TerminologyIndex, TerminologyPull],
  migrations,
  errors,
  commands: { terminology: async () => (await import('./commands/terminology.ts')).default },
  setup({ config, hooks, needs: { definitions, fhir, feed, database }, provide, later, clock, memory, log, serves }) {
    const freshness = createFreshness(clock, feed)
    const resources = later(Resources)
    const changed = (): void => terminology.forget()
    const index = openIndex({ database, resources, definitions, clock, memory, log, changed })
    const { pulled, ...puller } = createPuller({ ...config.terminology, database, clock, index, log, changed })
    const shared = { definitions, resources, pulled, freshness, memory }
    const found = createDefinitionFinder({ ...shared, stored: createFindStored(resources), index: index.reader })
    const finder = withImplicitValueSets(withBuiltIns(found))
    const terminology = createTerminology(finder, freshness, memory)
    provide(Terminology, terminology)
    provide(TerminologyIndex, index)
    provide(TerminologyPull, puller)
    addOperations({ ...shared, fhir, find: finder, terminology, database, clock })
    feed.listen({
      name: 'expansions',
      commit({ published }) {
        if (published.some((one) => (isNote(one) ? NOTES.has(one.about) : OURS.has(one.type)))) terminology.forget()
      },
      gap: changed,
    })
    // Before a change of this server is answered; the feed may be a moment behind it.
    hooks.onCommit.tap('forget expansions', ({ changes }) => {
      if (changes.some(({ next }) => OURS.has(next.type))) terminology.forget()
      for (const { next } of changes) if (next.type === 'CodeSystem') index.indexer.want('stored', next.id)
    })
    return serves && !database.isReader ? puller : undefined
  },
})

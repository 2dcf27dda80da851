/** Terminology: value sets and code systems of the packages, and those that users store. */
import { definePlugin } from '../../kernel/index.ts'
import { ChangeFeed, Database, isNote } from '../database/service.ts'
import { Fhir, Resources } from '../fhir/service.ts'
import { Definitions } from '../packages/service.ts'
import { BUILT_IN_URLS } from './built-in/built-in-systems.ts'
import { createClosures } from './closure/closures.ts'
import { closureMigrations } from './closure/tables.ts'
import { createMapFinder } from './concept-map/map-finder.ts'
import { definitionsBeside } from './definitions-beside.ts'
import * as errors from './errors.ts'
import type { Json } from './expansion-contract.ts'
import { createDefinitionFinder } from './find.ts'
import { createFreshness } from './freshness.ts'
import { withImplicitValueSets } from './implicit/implicit-value-sets.ts'
import { terminologyOperations } from './operations/operations.ts'
import { Terminology } from './service.ts'
import { createFindStored } from './stored-canonicals.ts'
import { createTerminology } from './terminology.ts'
import { withBuiltIns } from './with-built-ins.ts'

const OURS = new Set(['ValueSet', 'CodeSystem'])

export default definePlugin({
  name: 'terminology',
  description: 'Expands value sets and follows the hierarchies of code systems',
  needs: { definitions: Definitions, fhir: Fhir, feed: ChangeFeed, database: Database },
  provides: [Terminology],
  errors,
  migrations: closureMigrations,
  setup({ hooks, needs: { definitions, fhir, feed, database }, provide, later, clock }) {
    const freshness = createFreshness(clock, feed)
    const finder = withImplicitValueSets(
      withBuiltIns(createDefinitionFinder(definitions, createFindStored(later(Resources)), freshness)),
    )
    const terminology = createTerminology(finder, freshness)
    provide(Terminology, terminology)
    fhir.describe({ codeSystems: BUILT_IN_URLS })
    const maps = createMapFinder({ definitions, resources: later(Resources) })
    const closures = createClosures({ database, clock })
    const beside = (resources: readonly Json[]) => {
      const own = definitionsBeside({ find: finder, maps }, resources)
      return { terminology: createTerminology(own.find, freshness), maps: own.maps }
    }
    for (const operation of terminologyOperations({ terminology, maps, beside, closures, clock }))
      fhir.operation(operation)
    feed.listen({
      name: 'expansions',
      commit({ published }) {
        if (published.some((one) => (isNote(one) ? one.about === 'packages' : OURS.has(one.type)))) terminology.forget()
      },
      gap: () => terminology.forget(),
    })
    // Before a change of this server is answered; the feed may be a moment behind it.
    hooks.onCommit.tap('forget expansions', ({ changes }) => {
      if (changes.some(({ next }) => OURS.has(next.type))) terminology.forget()
    })
  },
})

/** Adds the operations of terminology, and what /metadata says of the code systems that are built in. */
import type { Clock, MemoryBudget } from '../../kernel/index.ts'
import type { Database } from '../database/service.ts'
import type { Fhir, Resources } from '../fhir/service.ts'
import type { Definitions } from '../packages/service.ts'
import { BUILT_IN_URLS } from './built-in/built-in-systems.ts'
import { createClosures } from './closure/closures.ts'
import { createMapFinder } from './concept-map/map-finder.ts'
import { definitionsBeside } from './definitions-beside.ts'
import type { Json } from './expansion-contract.ts'
import type { DefinitionFinder } from './find.ts'
import type { Freshness } from './freshness.ts'
import { terminologyOperations } from './operations/operations.ts'
import type { PulledDefinitions } from './pull/pulled-definitions.ts'
import { createTerminology, type ExpansionService } from './terminology.ts'

export interface OperationsParts {
  readonly fhir: Fhir
  readonly find: DefinitionFinder
  readonly terminology: ExpansionService
  readonly definitions: Definitions
  readonly resources: () => Resources
  readonly pulled: PulledDefinitions
  readonly database: Pick<Database, 'transact'>
  readonly freshness: Freshness
  readonly clock: Clock
  readonly memory: MemoryBudget
}

/** In setup only. */
export const addOperations = (parts: OperationsParts): void => {
  const { fhir, find, terminology, definitions, resources, pulled, database, freshness, clock, memory } = parts
  const maps = createMapFinder({ definitions, resources, pulled })
  const closures = createClosures({ database, clock })
  const beside = (given: readonly Json[]) => {
    const own = definitionsBeside({ find, maps }, given)
    return { terminology: createTerminology(own.find, freshness, memory), maps: own.maps }
  }
  fhir.describe({ codeSystems: BUILT_IN_URLS })
  for (const operation of terminologyOperations({ terminology, maps, beside, closures, clock }))
    fhir.operation(operation)
}

/** The terminology operations. https://hl7.org/fhir/R4/terminology-service.html */
import type { Clock } from '../../../kernel/index.ts'
import type { Operation } from '../../fhir/service.ts'
import type { Closures } from '../closure/closures.ts'
import type { MapFinder } from '../concept-map/map-finder.ts'
import type { Json } from '../expansion-contract.ts'
import type { ExpansionService } from '../terminology.ts'
import { closureOperation } from './closure.ts'
import { expandOperation } from './expand.ts'
import { findMatchesOperation } from './find-matches.ts'
import { lookupOperation } from './lookup.ts'
import { subsumesOperation } from './subsumes.ts'
import { translateOperation } from './translate.ts'
import { validateInCodeSystem, validateInValueSet } from './validate-code.ts'
import { withRequestResources } from './with-request-resources.ts'

/** What operations ask. */
export interface OperationDefinitions {
  readonly terminology: ExpansionService
  readonly maps: MapFinder
}

export interface TerminologyOperationParts extends OperationDefinitions {
  /** The same with resources of a request, which are found first. */
  readonly beside: (resources: readonly Json[]) => OperationDefinitions
  readonly closures: Closures
  readonly clock: Clock
}

export const terminologyOperations = ({
  terminology,
  maps,
  beside,
  closures,
  clock,
}: TerminologyOperationParts): readonly Operation[] => [
  ...[
    (on: OperationDefinitions) => expandOperation(on.terminology, clock),
    (on: OperationDefinitions) => validateInValueSet(on.terminology),
    (on: OperationDefinitions) => validateInCodeSystem(on.terminology),
    (on: OperationDefinitions) => lookupOperation(on.terminology),
    (on: OperationDefinitions) => subsumesOperation(on.terminology),
    (on: OperationDefinitions) => findMatchesOperation(on.terminology),
    (on: OperationDefinitions) => translateOperation(on.maps),
  ].map((make) => withRequestResources<OperationDefinitions>({ terminology, maps }, beside, make)),
  closureOperation(terminology, closures),
]

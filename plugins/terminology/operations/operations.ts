/** The terminology operations. https://hl7.org/fhir/R4/terminology-service.html */
import type { Clock } from '../../../kernel/index.ts'
import type { Operation } from '../../fhir/service.ts'
import type { MapFinder } from '../concept-map/map-finder.ts'
import type { ExpansionService } from '../terminology.ts'
import { expandOperation } from './expand.ts'
import { lookupOperation } from './lookup.ts'
import { subsumesOperation } from './subsumes.ts'
import { translateOperation } from './translate.ts'
import { validateInCodeSystem, validateInValueSet } from './validate-code.ts'

export interface TerminologyOperationParts {
  readonly terminology: ExpansionService
  readonly maps: MapFinder
  readonly clock: Clock
}

export const terminologyOperations = ({
  terminology,
  maps,
  clock,
}: TerminologyOperationParts): readonly Operation[] => [
  expandOperation(terminology, clock),
  validateInValueSet(terminology),
  validateInCodeSystem(terminology),
  lookupOperation(terminology),
  subsumesOperation(terminology),
  translateOperation(maps),
]

/** The terminology operations. https://hl7.org/fhir/R4/terminology-service.html */
import type { Clock } from '../../../kernel/index.ts'
import type { Operation } from '../../fhir/service.ts'
import type { ExpansionService } from '../terminology.ts'
import { expandOperation } from './expand.ts'
import { lookupOperation } from './lookup.ts'
import { subsumesOperation } from './subsumes.ts'
import { validateInCodeSystem, validateInValueSet } from './validate-code.ts'

export const terminologyOperations = (terminology: ExpansionService, clock: Clock): readonly Operation[] => [
  expandOperation(terminology, clock),
  validateInValueSet(terminology),
  validateInCodeSystem(terminology),
  lookupOperation(terminology),
  subsumesOperation(terminology),
]

/** The operations of Structured Data Capture. https://hl7.org/fhir/uv/sdc/operations.html */
import type { Operation } from '../../fhir/service.ts'
import { assembleOperation } from './assemble.ts'
import { extractOperation } from './extract.ts'
import { nextQuestionOperation } from './next-question.ts'
import { packageOperation } from './package.ts'
import { populateOperation } from './populate.ts'
import type { SdcParts } from './sdc-parts.ts'

export const sdcOperations = (parts: SdcParts): readonly Operation[] => [
  populateOperation(parts),
  extractOperation(parts),
  assembleOperation(parts),
  nextQuestionOperation(parts),
  packageOperation(parts),
]

/** Errors of refused writes. They carry all issues. https://hl7.org/fhir/R4/http.html#create */
import { defineError } from '../../kernel/index.ts'

export const StructureRefused = defineError(
  'validation/structure-refused',
  400,
  'structure',
  'The resource does not have the structure of its type; the issues say where.',
)
export const RulesRefused = defineError(
  'validation/rules-refused',
  422,
  'invariant',
  'The resource breaks rules of its type or of a profile it claims; the issues say which.',
)

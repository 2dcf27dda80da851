/** Errors of Structured Data Capture. */
import { defineError } from '../../kernel/index.ts'

export const PackageMissing = defineError(
  'sdc/package-missing',
  404,
  'not-supported',
  'The operation $%s is defined by the package hl7.fhir.uv.sdc, which is not installed here.',
)
export const QuestionnaireUnknown = defineError(
  'sdc/questionnaire-unknown',
  404,
  'not-found',
  'There is no Questionnaire "%s" here that you may read.',
)
export const QuestionnaireWanted = defineError(
  'sdc/questionnaire-wanted',
  400,
  'required',
  '$%s needs %s. Give one of them, once.',
)
export const InputRefused = defineError('sdc/input-refused', 400, 'value', '$%s: %s.')
export const StructureMapRefused = defineError(
  'sdc/structure-map',
  422,
  'not-supported',
  '$%s: the Questionnaire asks for the StructureMap "%s", and no StructureMap is executed here. Use %s.',
)
export const ResponseRefused = defineError('sdc/response-refused', 422, 'business-rule', '$%s: %s.')
export const NotAssembled = defineError('sdc/not-assembled', 422, 'business-rule', '$assemble: %s.')
export const EvaluationTooCostly = defineError(
  'sdc/too-costly',
  422,
  'too-costly',
  'The expressions of the Questionnaire take %s, so they were given up. Simplify them.',
)
export const EvaluationBusy = defineError(
  'sdc/busy',
  503,
  'throttled',
  'Too many Questionnaires are being evaluated at this moment; try again.',
)
export const EvaluationEnded = defineError(
  'sdc/ended',
  503,
  'transient',
  'The evaluation of expressions was ended, because the server stops or the client has left.',
)

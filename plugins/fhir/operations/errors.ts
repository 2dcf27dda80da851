/** Errors of operations and their parameters. https://hl7.org/fhir/R4/operations.html#executing */
import { defineError } from '../../../kernel/index.ts'

export const OperationUnknown = defineError(
  'fhir/operation-unknown',
  404,
  'not-found',
  'There is no operation $%s here; known are: %s.',
)
export const OperationPost = defineError(
  'fhir/operation-post',
  405,
  'not-supported',
  'The operation $%s changes what is stored, so it is invoked by POST.',
)
export const OperationBody = defineError(
  'fhir/operation-body',
  400,
  'invalid',
  'The operation $%s takes a Parameters resource%s; this is %s.',
)
export const OperationParametersMalformed = defineError(
  'fhir/operation-parameters-malformed',
  400,
  'structure',
  'The Parameters resource is not one: %s.',
)
export const OperationParameterUnknown = defineError(
  'fhir/operation-parameter-unknown',
  400,
  'not-supported',
  'The parameter "%s" is not known to the operation $%s; known are: %s.',
)
export const OperationParameterMissing = defineError(
  'fhir/operation-parameter-missing',
  400,
  'required',
  'The operation $%s needs the parameter "%s".',
)
export const OperationParameterMany = defineError(
  'fhir/operation-parameter-many',
  400,
  'invalid',
  'The parameter "%s" is given %s {time|times}, at most %s {is|are} taken.',
)
export const OperationParameterType = defineError(
  'fhir/operation-parameter-type',
  400,
  'value',
  'The parameter "%s" is of type %s; %s was sent.',
)
export const OperationParameterBody = defineError(
  'fhir/operation-parameter-body',
  400,
  'value',
  'The parameter "%s" is of type %s, which no query can hold; send a Parameters resource by POST.',
)
export const ValidateMode = defineError('fhir/validate-mode', 400, 'value', 'The mode "%s" of $validate is %s.')
export const ValidateProfile = defineError(
  'fhir/validate-profile',
  400,
  'not-found',
  'The profile "%s" is not installed, so nothing can be validated against it.',
)
export const MetaTooMany = defineError(
  'fhir/meta-too-many',
  400,
  'too-costly',
  'There are more than %s different labels; ask for those of a type or of a resource.',
)
export const OperationUnusable = defineError(
  'fhir/operation-unusable',
  500,
  'exception',
  'The operation $%s cannot be added: %s.',
)

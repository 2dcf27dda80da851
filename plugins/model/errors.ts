/** Errors for a body that is not acceptable JSON and for unknown resource types. */
import { defineError } from '../../kernel/index.ts'

export * from './xml/errors.ts'

export const NotUtf8 = defineError('fhir/not-utf8', 400, 'structure', 'The body is not valid UTF-8.')
export const JsonEmpty = defineError('fhir/json-empty', 400, 'structure', 'The body is empty; send a resource.')
export const JsonMalformed = defineError('fhir/json-malformed', 400, 'structure', 'The body is not valid JSON: %s.')
export const JsonDepth = defineError('fhir/json-depth', 400, 'structure', 'The body nests deeper than %s levels.')
export const JsonDuplicate = defineError(
  'fhir/json-duplicate',
  400,
  'structure',
  'The member "%s" stands twice in the same object.',
)
export const JsonName = defineError(
  'fhir/json-name',
  400,
  'structure',
  'The member "%s" is not an element of any resource.',
)
export const JsonWide = defineError(
  'fhir/json-wide',
  400,
  'structure',
  'An object has more than %s members; no type has as many elements.',
)
export const JsonLong = defineError(
  'fhir/json-long',
  400,
  'too-costly',
  'An array has more than %s items; send them in several resources.',
)
export const JsonString = defineError(
  'fhir/json-string',
  400,
  'value',
  'A string holds \\u0000 or half of a surrogate pair; neither is a character.',
)
export const JsonNumber = defineError(
  'fhir/json-number',
  400,
  'value',
  'A number is larger than a FHIR decimal can be.',
)
export const NotAnObject = defineError(
  'fhir/not-an-object',
  400,
  'structure',
  'A resource is a JSON object, and so is its meta.',
)
export const UnknownType = defineError(
  'fhir/unknown-type',
  404,
  'not-supported',
  'The resource type "%s" is not known to this server; /metadata lists those that are.',
)
export const PackagesChanged = defineError(
  'fhir/packages-changed',
  503,
  'transient',
  'The server that writes has installed other packages, and this one starts again with them. Try again.',
)

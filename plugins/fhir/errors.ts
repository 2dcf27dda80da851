/** Errors of the FHIR interface and their status codes. https://hl7.org/fhir/R4/http.html */
import { defineError } from '../../kernel/index.ts'

// Bodies of requests

export const BodyEncoding = defineError(
  'fhir/body-encoding',
  415,
  'not-supported',
  'Content-Encoding "%s" is not supported; send gzip or none.',
)
export const BodyCorrupt = defineError('fhir/body-corrupt', 400, 'structure', 'The gzip body is damaged or incomplete.')
export const BodyIncomplete = defineError(
  'fhir/body-incomplete',
  400,
  'incomplete',
  'The connection ended before the body did; nothing was stored.',
)
export const BinaryEmpty = defineError(
  'fhir/binary-empty',
  400,
  'required',
  'The body is empty; send the content of the Binary.',
)
export const SecurityContextHeader = defineError(
  'fhir/security-context-header',
  400,
  'value',
  'The header X-Security-Context goes with raw content; in a Binary resource, send securityContext instead.',
)
export const SecurityContextUnusable = defineError(
  'fhir/security-context-unusable',
  422,
  'business-rule',
  'Binary.securityContext needs a reference to a resource, such as Patient/1: access to the Binary is decided by it.',
)
export const BodyType = defineError(
  'fhir/body-type',
  415,
  'not-supported',
  'Content-Type "%s" is not supported; send application/fhir+json or application/fhir+xml in UTF-8.',
)
export const NotAcceptable = defineError(
  'fhir/not-acceptable',
  406,
  'not-supported',
  'The server answers in application/fhir+json and application/fhir+xml; "%s" asks for something else.',
)

// Addresses

export const MethodNotAllowed = defineError(
  'fhir/method-not-allowed',
  405,
  'not-supported',
  '%s is not supported at this address; the Allow header lists what is.',
)
// Resources that are written

export const TypeMissing = defineError(
  'fhir/type-missing',
  400,
  'structure',
  'The resource has no resourceType; %s was expected.',
)
export const TypeMismatch = defineError(
  'fhir/type-mismatch',
  400,
  'invalid',
  'The resource is of type "%s" and the address of type "%s".',
)
export const IdMissing = defineError(
  'fhir/id-missing',
  400,
  'invalid',
  'An update names its id in the address and in the resource; the resource has none. Add "id": "%s".',
)
export const IdMismatch = defineError(
  'fhir/id-mismatch',
  400,
  'invalid',
  'The resource has the id "%s" and the address "%s".',
)
export const IdMalformed = defineError(
  'fhir/id-malformed',
  400,
  'value',
  'An id has 1 to 64 of the characters A-Z, a-z, 0-9, "-" and ".", and is more than one or two dots.',
)
export const ServerOwned = defineError('fhir/server-owned', 405, 'not-supported', '%s %s, and can only be read.')
export const ReadElsewhere = defineError(
  'fhir/read-elsewhere',
  400,
  'not-supported',
  '%s is not found here, because it is not kept as resources; %s.',
)
export const TypeOwnedTwice = defineError(
  'fhir/type-owned-twice',
  500,
  'exception',
  'Two plugins claim that only they write %s.',
)
export const ManyMatches = defineError(
  'fhir/many-matches',
  412,
  'multiple-matches',
  'Several resources of type %s match; a conditional interaction is about one.',
)
export const TooManyDeleted = defineError(
  'fhir/too-many-deleted',
  413,
  'too-costly',
  'More resources of type %s match than the %s that one request deletes; narrow the search.',
)
export const NoneMatches = defineError('fhir/none-matches', 404, 'not-found', 'No resource of type %s matches.')
export const NoneForIfMatch = defineError(
  'fhir/none-for-if-match',
  412,
  'conflict',
  'No resource of type %s matches the criteria, so there is none for If-Match to match.',
)
export const ConditionalIdTaken = defineError(
  'fhir/conditional-id-taken',
  409,
  'conflict',
  '%s/%s exists and does not match the criteria. Send the criteria that it matches, another id, or PUT to its address without criteria.',
)
// Headers and parameters

export const ConditionHeader = defineError('fhir/condition-header', 400, 'not-supported', '%s does not go with %s. %s.')

export const HeaderMalformed = defineError(
  'fhir/header-malformed',
  400,
  'value',
  'The header %s is not well-formed; it looks like %s.',
)
export const ElementUnknown = defineError(
  'fhir/element-unknown',
  400,
  'not-supported',
  'The element "%s" of _elements is not known for %s. Known are: %s.',
)
export const HistoryTooLong = defineError(
  'fhir/history-too-long',
  403,
  'too-costly',
  'The history was given up after %s s: too much of it lies outside the part of the data this access covers. Narrow it with _since, or ask for one type or resource.',
)
export const FhirNotStarted = defineError(
  'fhir/not-started',
  503,
  'transient',
  'The FHIR interface has not started yet. Try again when /readyz answers 200.',
)
export const SearchFormType = defineError(
  'fhir/search-form-type',
  415,
  'not-supported',
  'A search is posted as application/x-www-form-urlencoded; "%s" is not supported.',
)

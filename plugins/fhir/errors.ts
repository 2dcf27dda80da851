/** The status codes of the FHIR interface. https://hl7.org/fhir/R4/http.html */
import { defineError } from '../../kernel/index.ts'

// The text of a body

export const NotUtf8 = defineError('fhir/not-utf8', 400, 'structure', 'The body is not valid UTF-8.')
export const JsonEmpty = defineError('fhir/json-empty', 400, 'structure', 'The body is empty; send a resource as JSON.')
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
  'Content-Type "%s" is not supported; send application/fhir+json in UTF-8.',
)
export const NotAcceptable = defineError(
  'fhir/not-acceptable',
  406,
  'not-supported',
  'The server answers in application/fhir+json; "%s" asks for something else.',
)

// What is addressed

export const UnknownType = defineError(
  'fhir/unknown-type',
  404,
  'not-supported',
  'The resource type "%s" is not known to this server; /metadata lists those that are.',
)
export const NotFound = defineError('fhir/not-found', 404, 'not-found', 'There is no %s/%s.')
export const VersionNotFound = defineError(
  'fhir/version-not-found',
  404,
  'not-found',
  'There is no version %s of %s/%s.',
)
export const Deleted = defineError('fhir/deleted', 410, 'deleted', '%s/%s was deleted.')
export const VersionDeleted = defineError(
  'fhir/version-deleted',
  410,
  'deleted',
  'Version %s of %s/%s is its deletion and has no content.',
)
export const MethodNotAllowed = defineError(
  'fhir/method-not-allowed',
  405,
  'not-supported',
  '%s is not supported at this address; the Allow header lists what is.',
)
export const NoCompartment = defineError(
  'fhir/no-compartment',
  404,
  'not-supported',
  '%s is not the type of a compartment; those are: %s.',
)

// What is written

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
export const UpdateAsCreateOff = defineError(
  'fhir/update-as-create-off',
  405,
  'not-supported',
  'There is no %s/%s and this server assigns ids itself; POST to %s, or set update_as_create.',
)
export const ServerOwned = defineError('fhir/server-owned', 405, 'not-supported', '%s %s, and can only be read.')
export const TypeOwnedTwice = defineError(
  'fhir/type-owned-twice',
  500,
  'exception',
  'Two plugins claim that only they write %s.',
)
export const VersionConflict = defineError(
  'fhir/version-conflict',
  412,
  'conflict',
  'The current version of %s/%s is %s; If-Match names another. Read it again and repeat the change.',
)
export const NoMatch = defineError('fhir/no-match', 412, 'conflict', 'There is no %s/%s for If-Match to match.')
export const Exists = defineError(
  'fhir/exists',
  412,
  'conflict',
  '%s/%s exists, and If-None-Match asks that it does not.',
)

export const ConditionalCriteria = defineError(
  'fhir/conditional-criteria',
  412,
  'required',
  'A conditional interaction needs search parameters that say which resource is meant.',
)
export const ConditionalParameter = defineError(
  'fhir/conditional-parameter',
  400,
  'not-supported',
  'The parameter "%s" steers the result of a search; a conditional interaction takes only parameters that select.',
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
export const Contended = defineError(
  'fhir/contended',
  409,
  'conflict',
  'Others change the same resources faster than this request could. Repeat it.',
)

// How it is asked

export const HeaderMalformed = defineError(
  'fhir/header-malformed',
  400,
  'value',
  'The header %s is not well-formed; it looks like %s.',
)
export const ParameterUnknown = defineError(
  'fhir/parameter-unknown',
  400,
  'not-supported',
  'The parameter "%s" is not supported here; known are: %s.',
)
export const ElementUnknown = defineError(
  'fhir/element-unknown',
  400,
  'not-supported',
  'The element "%s" of _elements is not known for %s. Known are: %s.',
)
export const ParameterValue = defineError('fhir/parameter-value', 400, 'value', 'The parameter %s takes %s.')
export const RestrictionUnsupported = defineError(
  'fhir/restriction-unsupported',
  403,
  'forbidden',
  'Access is limited to part of the data, and this interaction cannot be limited to it.',
)
export const RestrictionUnusable = defineError(
  'fhir/restriction-unusable',
  500,
  'exception',
  'A plugin limits access by a search that this server cannot perform, so nothing is shown. The log of the server says why.',
)
export const ExplainRestricted = defineError(
  'fhir/explain-restricted',
  403,
  'forbidden',
  'How a search is performed depends on all resources, and access is limited to part of them. Leave out _explain.',
)
export const HistoryTooLong = defineError(
  'fhir/history-too-long',
  403,
  'too-costly',
  'The history was given up after %s s: too much of it lies outside the part of the data this access covers. Narrow it with _since, or ask for one type or resource.',
)
export const OutsideAccess = defineError(
  'fhir/outside-access',
  403,
  'forbidden',
  'The %s would lie outside the part of the data this access covers.',
)
export const TypeForbidden = defineError('fhir/type-forbidden', 403, 'forbidden', 'Access to %s is not allowed.')
export const NotStarted = defineError(
  'fhir/not-started',
  503,
  'transient',
  'The FHIR interface has not started yet. Try again when /readyz answers 200.',
)

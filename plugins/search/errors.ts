/**
 * Errors of search requests, of `_filter` and of posted SearchParameters. https://hl7.org/fhir/R4/search.html#errors
 */
import { defineError } from '../../kernel/index.ts'

export const SearchParameterUnknown = defineError(
  'fhir/search-parameter-unknown',
  400,
  'not-supported',
  'The search parameter "%s" is not known for %s. Known are: %s.',
)
export const SearchTypeMisplaced = defineError(
  'fhir/search-type-misplaced',
  400,
  'not-supported',
  '_type is for searches over several types, such as /?_type=Patient; the address of this search names its type. Leave _type out.',
)
export const SearchUnsupportedParameter = defineError(
  'fhir/search-parameter-unsupported',
  400,
  'not-supported',
  'The search parameter "%s" is not supported by this server: %s.',
)
export const SearchModifierUnknown = defineError(
  'fhir/search-modifier-unknown',
  400,
  'not-supported',
  'The modifier ":%s" is not supported on the %s parameter "%s". Supported are: %s.',
)
export const SearchModifierNeeds = defineError(
  'fhir/search-modifier-needs',
  400,
  'not-supported',
  'The modifier ":%s" on "%s" needs a terminology: %s.',
)
export const SearchPrefix = defineError(
  'fhir/search-prefix',
  400,
  'value',
  'The value of "%s" begins with a prefix that is none of eq, ne, gt, lt, ge, le, sa, eb, ap, or it is no %s.',
)
export const SearchValue = defineError(
  'fhir/search-value',
  400,
  'value',
  'The value of the search parameter "%s" is not %s.',
)
export const SearchEmpty = defineError('fhir/search-empty', 400, 'value', 'The search parameter "%s" has no value.')
export const SearchChain = defineError(
  'fhir/search-chain',
  400,
  'not-supported',
  'The chain "%s" cannot be followed: %s.',
)
export const SearchFilter = defineError(
  'fhir/search-filter',
  400,
  'value',
  'The filter cannot be read at character %s: %s, and %s.',
)
export const SearchFilterOperator = defineError(
  'fhir/search-filter-operator',
  400,
  'not-supported',
  'The operator "%s" is not for a parameter of type %s, in "%s". Those are: %s.',
)
export const SearchTooCostly = defineError(
  'fhir/search-too-costly',
  400,
  'too-costly',
  'The search is too large: %s. Split it into several.',
)
export const SearchTooLong = defineError(
  'fhir/search-too-long',
  400,
  'too-costly',
  'The search was given up after %s s. Ask for less: name a parameter that few resources match.',
)
export const SearchSort = defineError(
  'fhir/search-sort',
  400,
  'not-supported',
  'The result cannot be sorted by "%s": %s.',
)
export const SearchPageInvalid = defineError(
  'fhir/search-page-invalid',
  400,
  'value',
  'The page link is not one this server made for this search. Start again without _page.',
)
export const SearchPageExpired = defineError(
  'fhir/search-page-expired',
  410,
  'expired',
  'The page link is too old. Start again without _page.',
)
export const SearchIndexing = defineError(
  'fhir/search-indexing',
  503,
  'transient',
  'The search parameter "%s" is being indexed%s. Try again later.',
)
export const SearchParameterRefused = defineError(
  'fhir/search-parameter-refused',
  422,
  'business-rule',
  'The SearchParameter cannot be put to work: %s',
)
export const ReindexUnknown = defineError(
  'fhir/reindex-unknown',
  404,
  'not-found',
  'There is no search parameter to reindex: %s is not known.',
)
export const SearchPageForeign = defineError(
  'fhir/search-page-foreign',
  404,
  'not-found',
  'There is no such page for this caller.',
)
export const NoCompartment = defineError(
  'fhir/no-compartment',
  404,
  'not-supported',
  '%s is not the type of a compartment; those are: %s.',
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
export const QueryParameterUnknown = defineError(
  'fhir/parameter-unknown',
  400,
  'not-supported',
  'The parameter "%s" is not supported here; known are: %s.',
)
export const QueryParameterValue = defineError('fhir/parameter-value', 400, 'value', 'The parameter %s takes %s.')
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
export const OutsideAccess = defineError(
  'fhir/outside-access',
  403,
  'forbidden',
  'The %s would lie outside the part of the data this access covers.',
)
export const TypeForbidden = defineError('fhir/type-forbidden', 403, 'forbidden', 'Access to %s is not allowed.')

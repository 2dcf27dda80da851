/** What can be wrong with a search. https://hl7.org/fhir/R4/search.html#errors */
import { defineError } from '../../kernel/index.ts'

export const SearchParameterUnknown = defineError(
  'fhir/search-parameter-unknown',
  400,
  'not-supported',
  'The search parameter "%s" is not known for %s. Known are: %s.',
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
export const SearchFormType = defineError(
  'fhir/search-form-type',
  415,
  'not-supported',
  'A search is posted as application/x-www-form-urlencoded; "%s" is not supported.',
)
export const SearchIndexing = defineError(
  'fhir/search-indexing',
  503,
  'transient',
  'The search parameter "%s" is being indexed: %s of %s {resource is|resources are} done. Try again later.',
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

/**
 * What other plugins may import from search. Threads import `thread-service.ts`, which loads only what extraction
 * needs.
 */
export type { AccessEvaluator } from './access/access-evaluator-interface.ts'
export { type CompiledQuery, type SubjectVersion, toMatcher, toSubject } from './access/compile-matcher.ts'
export { extent } from './access/extent.ts'
export { createNameCheck, tapNames } from './access/restriction-names.ts'
export { typeForbidden } from './access/type-forbidden.ts'
export {
  ConditionalCriteria,
  ConditionalParameter,
  QueryParameterUnknown,
  QueryParameterValue,
  RestrictionUnsupported,
} from './errors.ts'
export type { FastPage } from './fast/find-fast.ts'
export type { CachedEntries } from './fast/page-cache.ts'
export type { Reindex, ReindexListener, ReindexProgress, ReindexScope } from './index/backfill/reindex.ts'
export type { Extraction } from './index/extraction.ts'
export type { ExtractionSource } from './index/extraction-source.ts'
export type { ResourceText } from './index/full-text/resource-text.ts'
export type { FullTextMode } from './index/full-text/text-state.ts'
export type { IndexEntries } from './index/index-entries.ts'
export {
  type Before,
  type ContainedList,
  type FoundRows,
  type IndexFindings,
  rowsOfBefore,
} from './index/index-findings.ts'
export type { PatientSubjects } from './index/patient-subjects.ts'
export type { Registry } from './index/registry.ts'
export { Reindexing } from './index/reindexing.ts'
export type { Search } from './open-search.ts'
export type { ReadAsOf } from './plan/as-of.ts'
export type { BesideName, BesideSource } from './plan/beside/beside-source.ts'
export type { CompartmentQuery } from './plan/compartment-page.ts'
export { SEARCH_MS } from './plan/deadline.ts'
export type { ConditionalSearch } from './plan/find-matches.ts'
export type { SearchClause } from './query/clause.ts'
export { type Code, CodeExpander } from './query/code-expander.ts'
export { createFiledMatchers, type FiledMatchers } from './query/filed-matchers.ts'
export type { Matcher, MatchSubject } from './query/matcher.ts'
export { signPageToken, verifyPageToken } from './query/page-token.ts'
export { RESULT_PARAMETERS, readSearch, type SearchRequest } from './query/search-parameters.ts'
export type { SearchEntry, Shown } from './query/search-query.ts'
export type { SearchScope } from './query/search-scope.ts'
export type { References, Referrer, TargetVersion } from './reference-index.ts'
export type { SearchReads } from './search-reads.ts'
export { Searches } from './searches.ts'

/** The input and the result of a search. The result holds versions; the caller turns them into a Bundle. */
import type { Issue, RequestContext, Ruling, ServerError } from '../../../kernel/index.ts'
import type { StoredVersion } from '../../storage/service.ts'
import type { SearchRequest } from './search-parameters.ts'
import type { SearchScope } from './search-scope.ts'

/** The parameters for the display of matches, as far as the search needs to know them. */
export interface Shown {
  /** True when only the number of matches is requested. */
  readonly countOnly: boolean
  /**
   * Returns these parameters as links repeat them, once the types of the results are known. It calls `refuse` for an
   * unsupported one, which throws or ignores it. `where` names the types in messages.
   */
  settle(
    types: readonly string[],
    where: string,
    refuse: (name: string, error: ServerError) => void,
  ): readonly (readonly [name: string, value: string])[]
}

export interface SearchQuery {
  /** Caller, URLs of the server, and the signal that cancels the search. */
  readonly context: RequestContext
  readonly scope: SearchScope
  readonly request: SearchRequest
  readonly ruling: Ruling
  /** True when unsupported parameters are to be ignored. */
  readonly lenient: boolean
  readonly shown: Shown
  /** True where resources beside the stored ones are to be shown as well: the definitions of packages. */
  readonly beside?: boolean
}

export interface SearchEntry {
  readonly version: StoredVersion
  readonly mode: 'match' | 'include'
  /** Index in `contained`, when the entry is that contained resource. */
  readonly contained?: number | undefined
}

export interface SearchPage {
  /** Matches, followed by included resources. */
  readonly entries: readonly SearchEntry[]
  readonly total: number | undefined
  /** Path and parameters, without the base URL. */
  readonly links: readonly { readonly relation: string; readonly address: string }[]
  /** Ignored parameters, truncated includes, and the notes of `_explain`. */
  readonly issues: readonly Issue[]
}

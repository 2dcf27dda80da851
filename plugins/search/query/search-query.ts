/** What a search is asked with and what it answers: versions, no text. How they are shown is the business of who asks. */
import type { Issue, RequestContext, Ruling, ServerError } from '../../../kernel/index.ts'
import type { StoredVersion } from '../../storage/service.ts'
import type { SearchRequest } from './search-parameters.ts'
import type { SearchScope } from './search-scope.ts'

/** How matches are shown, as far as a search has to know. */
export interface Shown {
  /** Nothing but the number of matches. */
  readonly countOnly: boolean
  /**
   * The parameters that steer it, as links repeat them, once the types are known whose resources may be shown. `refuse` is
   * given what is not understood, and throws it or passes over it. `where` names the types in messages.
   */
  settle(
    types: readonly string[],
    where: string,
    refuse: (name: string, error: ServerError) => void,
  ): readonly (readonly [name: string, value: string])[]
}

export interface SearchQuery {
  /** Whose search it is, what the server is called, and when it is given up. */
  readonly context: RequestContext
  readonly scope: SearchScope
  readonly request: SearchRequest
  readonly ruling: Ruling
  /** What is not understood is passed over. */
  readonly lenient: boolean
  readonly shown: Shown
}

export interface SearchEntry {
  readonly version: StoredVersion
  readonly mode: 'match' | 'include'
  /** Place in `contained`, when that resource is what is shown. */
  readonly contained?: number | undefined
}

export interface SearchPage {
  /** Matches, then what was included. */
  readonly entries: readonly SearchEntry[]
  readonly total: number | undefined
  /** Path and parameters, without the base of the server. */
  readonly links: readonly { readonly relation: string; readonly address: string }[]
  /** What was passed over or left out, and what `_explain` tells. */
  readonly issues: readonly Issue[]
}

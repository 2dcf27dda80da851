/** Tests single resources against a query, for plugins that receive changes and look for the queries they match. */

import type { Restriction } from '../../../kernel/index.ts'

declare const subject: unique symbol

/** A resource prepared for tests. */
export interface MatchSubject {
  readonly [subject]?: true
  readonly type: string
  readonly id: string
  /** Keys of the resource; some may be there twice. A matcher with keys can match only if it has one of these. */
  readonly keys: readonly number[]
}

export interface Matcher {
  readonly type: string
  /**
   * Every match has at least one of these keys, so that thousands of queries can be filed in one map. Undefined when
   * no clause names a reference, token or id; then the query is tested against every change.
   */
  readonly keys: readonly number[] | undefined
  /** The restrictions that are part of the test. Plain data, to be compared. */
  readonly restrictions: readonly Restriction[]
  test(subject: MatchSubject): boolean
  /** Not current when search parameters or value sets have changed since: the matcher has to be made again. Many share one. */
  readonly meaning: { readonly isCurrent: boolean }
}

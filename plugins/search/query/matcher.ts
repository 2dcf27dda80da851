/** A query as a test of single resources, for who hears of changes and wants to know whom they concern. */

declare const subject: unique symbol

/** A resource to be tested. */
export interface MatchSubject {
  readonly [subject]?: true
  readonly type: string
  readonly id: string
  /** Under one of these, each once, stands every matcher with keys that it meets. */
  readonly keys: readonly number[]
}

export interface Matcher {
  readonly type: string
  /**
   * What meets it has one of these keys: so thousands of queries are filed in one map. Undefined where no clause names
   * a value of a reference, token or id: such a query is tested against each change.
   */
  readonly keys: readonly number[] | undefined
  test(subject: MatchSubject): boolean
  /** False when parameters or value sets have changed since: ask for it anew. */
  readonly isCurrent: boolean
}

/** Thrown in a thread for work that is refused: the main thread makes the error of the table from it. */

/** Names of errors that a thread may refuse with. */
export type Refusal = 'structure-map' | 'response' | 'too-costly' | 'not-assembled'

export class JobRefused extends Error {
  readonly refusal: Refusal
  /** The words of the error's sentence. */
  readonly words: readonly string[]

  constructor(refusal: Refusal, ...words: readonly string[]) {
    super(refusal)
    this.refusal = refusal
    this.words = words
  }
}

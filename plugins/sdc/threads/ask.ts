/** The questions that a thread has for the main thread. */

/** What a thread asks the main thread for, which reads it as the caller. */
export type Question =
  /** A FHIR query: `Type?parameters` or `Type/id`. The answer is a Reading. */
  | { readonly kind: 'query'; readonly query: string }
  /** The codes of a value set with this code: `{ system, code }[]`, undefined where it cannot be told. */
  | { readonly kind: 'codes'; readonly valueSet: string; readonly system: string | undefined; readonly code: string }
  /** The JSON of an installed StructureDefinition; undefined where it is not installed. */
  | { readonly kind: 'definition'; readonly url: string }
  /** The JSON of a Questionnaire that the caller may read; undefined where there is none. */
  | { readonly kind: 'questionnaire'; readonly canonical: string }
  /** A new UUID. */
  | { readonly kind: 'id' }

/** The answer to a query: the JSON of a Bundle or resource, or why there is none, for the caller. */
export type Reading = { readonly json: string } | { readonly refused: string }

export interface Code {
  readonly system: string
  readonly code: string
}

/** Puts a question to the main thread. */
export interface Ask {
  (question: Extract<Question, { kind: 'query' }>): Promise<Reading>
  (question: Extract<Question, { kind: 'codes' }>): Promise<readonly Code[] | undefined>
  (question: Extract<Question, { kind: 'definition' }>): Promise<string | undefined>
  (question: Extract<Question, { kind: 'questionnaire' }>): Promise<string | undefined>
  (question: Extract<Question, { kind: 'id' }>): Promise<string>
}

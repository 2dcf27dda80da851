/** What $populate hands to a thread, and what comes back. */
import type { Issue } from '../../../kernel/index.ts'
import type { Json } from '../questionnaire/json.ts'

/** Resources that are the value of a launch context or of a variable. */
export interface GivenContext {
  readonly name: string
  readonly content: readonly Json[]
}

export interface PopulateInput {
  readonly questionnaire: Json
  /** The Reference that the response gets. */
  readonly subjectReference: Json | undefined
  /** `Patient/1`: a resource of this server. */
  readonly subject: string | undefined
  /** Who asks, `Practitioner/1`. */
  readonly user: string | undefined
  readonly contexts: readonly GivenContext[]
  readonly local: boolean | undefined
  /** ISO 8601 */
  readonly now: string
}

export interface Populated {
  readonly response: Json
  readonly issues: readonly Issue[]
}

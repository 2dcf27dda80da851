/** What $next-question hands to a thread, and what comes back. */
import type { Json } from '../questionnaire/json.ts'

export interface NextQuestionInput {
  /** With the Questionnaire of the items that were asked so far, contained. */
  readonly response: Json
  readonly contained: Json
  /** All items. */
  readonly questionnaire: Json
}

export interface NextQuestion {
  readonly response: Json
}

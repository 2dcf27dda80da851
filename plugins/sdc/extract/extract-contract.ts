/** What $extract hands to a thread, and what comes back. */
import type { Issue } from '../../../kernel/index.ts'
import type { Json } from '../questionnaire/json.ts'

export interface ExtractInput {
  readonly questionnaire: Json
  readonly response: Json
  /** ISO 8601 */
  readonly now: string
}

export interface Extracted {
  /** A transaction Bundle; undefined where there is nothing to extract. */
  readonly bundle: Json | undefined
  readonly issues: readonly Issue[]
}

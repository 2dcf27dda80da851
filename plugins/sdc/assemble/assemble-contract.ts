/** What $assemble hands to a thread, and what comes back. */
import type { Issue } from '../../../kernel/index.ts'
import type { Json } from '../questionnaire/json.ts'

export interface AssembleInput {
  readonly questionnaire: Json
}

export interface Assembled {
  readonly questionnaire: Json
  readonly issues: readonly Issue[]
}

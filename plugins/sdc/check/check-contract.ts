/** What the check of a QuestionnaireResponse works with. */
import type { Json } from '../questionnaire/json.ts'

export interface CheckInput {
  readonly questionnaire: Json
  readonly response: Json
}

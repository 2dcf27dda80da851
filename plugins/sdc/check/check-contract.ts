/** What the check of a QuestionnaireResponse works with. */
import type { Issue } from '../../../kernel/index.ts'
import type { Evaluator } from '../expressions/evaluator.ts'
import type { Json } from '../questionnaire/json.ts'
import type { Code } from '../threads/ask.ts'

export interface CheckInput {
  readonly questionnaire: Json
  readonly response: Json
}

/** The codes of a value set with this code; undefined where it cannot be told. */
export type FindValueSetCodes = (
  valueSet: string,
  system: string | undefined,
  code: string,
) => Promise<readonly Code[] | undefined>

export interface CheckParts {
  /** Undefined on the main thread, where no expression is evaluated. */
  readonly evaluator: Evaluator | undefined
  readonly findCodes: FindValueSetCodes
}

/** Adds an issue at a path of the response. */
export type Report = (severity: Issue['severity'], code: Issue['code'], path: string, diagnostics: string) => void

/** What the operations work with. */
import type { Clock } from '../../../kernel/index.ts'
import type { EvaluationThreads } from '../threads/evaluation-threads.ts'
import type { AnswerParts } from './answer-questions.ts'

export interface SdcParts extends AnswerParts {
  readonly threads: EvaluationThreads
  readonly clock: Clock
  /** True where the SDC package is installed. */
  isInstalled(): boolean
  /** Throws 404 where the SDC package is not installed. */
  checkInstalled(operation: string): void
}

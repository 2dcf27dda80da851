/** Runs statements on a session in one round trip; they succeed or fail together. */
import type { Session } from './session.ts'
import type { BoundStatement, StatementResult } from './statement-group.ts'

/** Calls for one session must not overlap. */
export const runSteps = (session: Session, steps: readonly BoundStatement[]): Promise<readonly StatementResult[]> =>
  new Promise((resolve, reject) => session.exchanges.run([{ steps, settle: resolve, fail: reject }]))

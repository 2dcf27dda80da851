/** Checks what a start would refuse of a PostgreSQL server, without changing anything. */
import type { Logger } from '../../../kernel/index.ts'
import { checkRights } from './check-rights.ts'
import { inspectServer } from './inspect.ts'
import { withSessionAt } from './with-session.ts'

const LIMITS = { statementTimeoutMs: 10_000, lockTimeoutMs: 5_000, idleInTransactionMs: 5_000 }

/** Throws the reason. `isPending`: the start would migrate. */
export const checkStart = (url: string, isPending: boolean, log: Logger): Promise<void> =>
  withSessionAt(url, LIMITS, log, async (session) => {
    const { database } = await inspectServer(session, log)
    if (isPending) await checkRights(session, database)
  })

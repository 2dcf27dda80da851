/** Rolls a transaction back and releases its session. A session that cannot do so is closed. */
import { sql } from '../contract.ts'
import type { BorrowedSession } from './borrowed-session.ts'
import type { RunGroup } from './run-group.ts'
import type { StatementSender } from './statement-sender.ts'

const rollback = sql('rollback', 'ROLLBACK')

/** Never rejects. */
export const rollBackTransaction = async (
  borrowed: BorrowedSession,
  sender: StatementSender,
  send: RunGroup,
): Promise<void> => {
  await sender.answered
  if (borrowed.lease === undefined) return borrowed.release()
  const { session } = borrowed.lease
  if (session.isUsable && session.transactionStatus !== 'I')
    await send(session, [{ statement: rollback, params: [] }]).catch(() => session.destroy())
  borrowed.release()
}

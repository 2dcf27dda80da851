/** Sends the statements that a transaction still holds back, the check of the writer lease, and COMMIT, in one round trip. */
import { sql } from '../contract.ts'
import { DatabaseUnavailable } from '../errors.ts'
import type { BorrowedSession } from './borrowed-session.ts'
import type { Ending } from './ending.ts'
import { CommitUnknown } from './errors.ts'
import { fromPostgres, isLost, isRefusal } from './failure.ts'
import { type Closing, isFencedOff } from './fence.ts'
import type { HeldStatements } from './held-statements.ts'
import type { RunGroup } from './run-group.ts'
import type { StatementSender } from './statement-sender.ts'

const commit = sql('commit', 'COMMIT')

export interface FinishParts {
  readonly held: HeldStatements
  readonly borrowed: BorrowedSession
  readonly sender: StatementSender
  readonly send: RunGroup
  readonly ending: Ending
  /** The check to send before COMMIT. Called right before it is sent; undefined where none is needed. */
  readonly close: () => Closing | undefined
  /** Whether COMMIT waits for the disk. */
  readonly isDurable: boolean
}

/** Resolves after COMMIT returned. Throws CommitUnknown when the connection was lost meanwhile. */
export const finishTransaction = async (parts: FinishParts): Promise<void> => {
  const { held, borrowed, sender, send, ending, close, isDurable } = parts
  await sender.answered
  if (sender.failure !== undefined) throw sender.failure
  const { hasBegun } = sender
  if (!hasBegun && held.steps.length === 0) return
  // A single group of statements is a transaction by itself; BEGIN and COMMIT are needed only for several groups.
  borrowed.lease ??= await borrowed.acquire()
  const { session } = borrowed.lease
  // The session was lost before the commit was sent, so the outcome is known.
  if (!session.isUsable) throw DatabaseUnavailable()
  const closing = close()
  const last = [
    ...held.steps,
    ...(closing === undefined ? [] : [closing]),
    ...(hasBegun ? [{ statement: commit, params: [] }] : []),
  ]
  ending.isInDoubt = true
  try {
    const results = await send(session, last)
    ending.isInDoubt = false
    if (hasBegun && results.at(-1)?.tag !== 'COMMIT') throw DatabaseUnavailable().with({ detail: results.at(-1)?.tag })
    closing?.passed(results.at(hasBegun ? -2 : -1)?.rows ?? [], isDurable)
  } catch (error) {
    if (isRefusal(error)) ending.isInDoubt = false
    sender.failure = isLost(error)
      ? CommitUnknown().with({ cause: error })
      : isFencedOff(error)
        ? fromPostgres(error)
        : error
    closing?.failed(error)
    throw sender.failure
  }
}

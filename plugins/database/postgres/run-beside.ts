/** Opens a session for few statements, each of which commits by itself: nothing is migrated or prepared. */
import type { Logger } from '../../../kernel/index.ts'
import type { Sql, SqlParam, StatementRunner } from '../contract.ts'
import { fromPostgres } from './failure.ts'
import { withSessionAt } from './with-session.ts'

const LIMITS = { statementTimeoutMs: 4_000, lockTimeoutMs: 3_000, idleInTransactionMs: 5_000 }

export const runBesidePostgres = <T>(
  url: string,
  log: Logger,
  work: (session: StatementRunner) => Promise<T>,
): Promise<T> =>
  withSessionAt(url, LIMITS, log, (session) => {
    const ask = async <R>({ postgres }: Sql, params: readonly SqlParam[]): Promise<R[]> => {
      try {
        return (await session.query({ text: postgres, values: [...params] })).rows as R[]
      } catch (error) {
        throw fromPostgres(error)
      }
    }
    return work({
      get: async <R>(statement: Sql, params: readonly SqlParam[]) => (await ask<R>(statement, params))[0],
      run: async (statement, params) => void (await ask(statement, params)),
    })
  })

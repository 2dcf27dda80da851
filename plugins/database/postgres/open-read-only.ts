/** Opens a session for reads only: nothing is migrated, prepared or locked. */
import type { Logger } from '../../../kernel/index.ts'
import type { ThreadReader } from '../contract.ts'
import { fromPostgres } from './failure.ts'
import { withSessionAt } from './with-session.ts'

const LIMITS = { statementTimeoutMs: 60_000, lockTimeoutMs: 5_000, idleInTransactionMs: 5_000 }

export const openReadOnlyPostgres = <T>(
  url: string,
  log: Logger,
  work: (reader: ThreadReader) => Promise<T>,
): Promise<T> =>
  withSessionAt(url, LIMITS, log, async (session) => {
    try {
      return await work({
        all: async <R>({ postgres }: { readonly postgres: string }, params: readonly unknown[]) =>
          (await session.query({ text: postgres, values: [...params] })).rows as R[],
      })
    } catch (error) {
      throw fromPostgres(error)
    }
  })

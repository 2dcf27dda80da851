/** Opens a session for reads only: nothing is migrated, prepared or locked. */
import type { Logger } from '../../../kernel/index.ts'
import type { ThreadReader } from '../contract.ts'
import { createConnector } from './client.ts'
import { parseConninfo } from './conninfo.ts'
import { fromPostgres } from './failure.ts'
import { createTlsFiles } from './tls-files.ts'

const LIMITS = { statementTimeoutMs: 60_000, lockTimeoutMs: 5_000, idleInTransactionMs: 5_000 }

export const openReadOnlyPostgres = async <T>(
  url: string,
  log: Logger,
  work: (reader: ThreadReader) => Promise<T>,
): Promise<T> => {
  const conninfo = parseConninfo(url)
  const files = createTlsFiles(conninfo.tls, log)
  await files.current()
  const session = await createConnector({ conninfo, files, limits: LIMITS, log }).connect()
  try {
    return await work({
      all: async <R>({ postgres }: { readonly postgres: string }, params: readonly unknown[]) =>
        (await session.query({ text: postgres, values: [...params] })).rows as R[],
    })
  } catch (error) {
    throw fromPostgres(error)
  } finally {
    void session.end()
  }
}

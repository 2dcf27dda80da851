/** Checks what a start would refuse of a PostgreSQL server, without changing anything. */
import type { Logger } from '../../../kernel/index.ts'
import { checkRights } from './check-rights.ts'
import { createConnector } from './client.ts'
import { parseConninfo } from './conninfo.ts'
import { inspectServer } from './inspect.ts'
import { createTlsFiles } from './tls-files.ts'

const LIMITS = { statementTimeoutMs: 10_000, lockTimeoutMs: 5_000, idleInTransactionMs: 5_000 }

/** Throws the reason. `isPending`: the start would migrate. */
export const checkStart = async (url: string, isPending: boolean, log: Logger): Promise<void> => {
  const conninfo = parseConninfo(url)
  const files = createTlsFiles(conninfo.tls, log)
  await files.current()
  const session = await createConnector({ conninfo, files, limits: LIMITS, log }).connect()
  try {
    const { database } = await inspectServer(session, log)
    if (isPending) await checkRights(session, database)
  } finally {
    void session.end()
  }
}

/** Reads the recorded schema of a PostgreSQL database, with the rights of a read-only role. */
import type { Logger } from '../../../kernel/index.ts'
import type { RecordedSchema } from '../schema.ts'
import { createConnector } from './client.ts'
import { parseConninfo } from './conninfo.ts'
import { readRecordedPostgresSchema } from './schema.ts'
import { createTlsFiles } from './tls-files.ts'

const LIMITS = { statementTimeoutMs: 10_000, lockTimeoutMs: 5_000, idleInTransactionMs: 5_000 }

export const readPostgresSchema = async (url: string, log: Logger): Promise<RecordedSchema> => {
  const conninfo = parseConninfo(url)
  const files = createTlsFiles(conninfo.tls, log)
  await files.current()
  const session = await createConnector({ conninfo, files, limits: LIMITS, log }).connect()
  try {
    return await readRecordedPostgresSchema(session)
  } finally {
    void session.end()
  }
}

/** Reads the recorded schema of a PostgreSQL database, with the rights of a read-only role. */
import type { Logger } from '../../../kernel/index.ts'
import type { RecordedSchema } from '../schema.ts'
import { readRecordedPostgresSchema } from './schema.ts'
import { withSessionAt } from './with-session.ts'

const LIMITS = { statementTimeoutMs: 10_000, lockTimeoutMs: 5_000, idleInTransactionMs: 5_000 }

export const readPostgresSchema = (url: string, log: Logger): Promise<RecordedSchema> =>
  withSessionAt(url, LIMITS, log, readRecordedPostgresSchema)

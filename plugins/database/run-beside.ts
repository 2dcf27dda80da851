/** Runs statements on a session of their own, beside the server that writes. */
import type { Logger } from '../../kernel/index.ts'
import type { StatementRunner } from './contract.ts'
import { DatabaseUnavailable } from './errors.ts'

/** `database` is the section of server.toml. */
export const runBeside = async <T>(
  database: Readonly<Record<string, unknown>>,
  log: Logger,
  work: (session: StatementRunner) => Promise<T>,
): Promise<T> => {
  if (database.kind !== 'postgres' || database.postgres_url === undefined)
    throw DatabaseUnavailable().with({ detail: 'only PostgreSQL has sessions beside the server that writes' })
  const { runBesidePostgres } = await import('./postgres/run-beside.ts')
  return runBesidePostgres(String(database.postgres_url), log, work)
}

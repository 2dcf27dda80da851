/**
 * What the database offers to other plugins: statements, transactions, long queries, and MikroORM for administrative
 * entities. One contract on sqlite, memory and postgres.
 */
import type { Logger } from '../../kernel/index.ts'
import type { ThreadReader, ThreadReaderLocation, Transaction } from './contract.ts'

export {
  type AloneOptions,
  type CommitParticipant,
  chain,
  Database,
  type DatabaseStatus,
  type DeferredInsert,
  type MaybePromise,
  type Outcome,
  type Sql,
  type SqlParam,
  type SqlScalar,
  type StatementRunner,
  sql,
  type ThreadReader,
  type ThreadReaderLocation,
  type Transaction,
  type TransactOptions,
} from './contract.ts'

export { eachRow } from './each-row.ts'
export { Outdated } from './errors.ts'
export {
  ChangeFeed,
  type FeedCommit,
  type FeedListener,
  type FeedPosition,
  type FeedStatus,
  type LastingPosition,
} from './feed/change-feed.ts'
export { createFreshRuns, type FreshRuns } from './feed/fresh-runs.ts'
export { isNote, type Note, type Publication, type ResourceChange } from './feed/publication.ts'
export { insertImmediately } from './insert-immediately.ts'
export { isProcessGone, type OwnProcess, ownProcess } from './lease/own-process.ts'
export { type Mark, readEpoch, readMark } from './mark.ts'
export { isOutdated, outdatedWhere } from './outdated.ts'
export { isHeldUp } from './postgres/failure.ts'
export { openTemporaryDatabase, type TemporaryDatabase } from './sqlite/temporary-database.ts'
export { whenStored } from './when-stored.ts'

/** For a worker thread: opens a connection that reads committed rows. It is closed when the thread ends. */
export const openThreadReader = async ({ path }: ThreadReaderLocation): Promise<ThreadReader> => {
  const { openFileReading } = await import('./sqlite/file-thread-reader.ts')
  return openFileReading(path)
}

declare module '../../kernel/index.ts' {
  interface Registered {
    readonly transaction: Transaction
  }
}

/**
 * True when another process has this SQLite file open. For a command that needs the file to itself; call it before the
 * database is opened.
 */
export const isOpenElsewhere = async (path: string): Promise<boolean> =>
  (await import('./sqlite/open-elsewhere.ts')).isOpenElsewhere(path)

/**
 * For a command that uses a database and must not create one. `database` is the section of server.toml. Throws where it
 * cannot be read, or where no server has used it.
 */
export const lookForDatabase = async (database: Readonly<Record<string, unknown>>, log: Logger): Promise<void> =>
  (await import('./look-for.ts')).lookFor(database, log)

/** For `server backup`: see sqlite/back-up-file.ts. */
export const backUpFile = async (...given: Parameters<typeof import('./sqlite/back-up-file.ts').backUpFile>) =>
  (await import('./sqlite/back-up-file.ts')).backUpFile(...given)

/** For `server restore`: see sqlite/restore-file.ts. */
export const restoreFile = async (...given: Parameters<typeof import('./sqlite/restore-file.ts').restoreFile>) =>
  (await import('./sqlite/restore-file.ts')).restoreFile(...given)

/** For `server expunge compact`: see sqlite/compact-file.ts. */
export const compactFile = async (path: string): Promise<void> =>
  (await import('./sqlite/compact-file.ts')).compactFile(path)

/** The first file that a database at this path would overwrite or take for its own. */
export const findOccupant = async (path: string): Promise<string | undefined> =>
  (await import('./sqlite/restore-file.ts')).findOccupant(path)

/** 'new' where there is no file or an empty one. Throws where it is not a database of this server, or not whole. */
export const inspectFile = async (path: string): Promise<'new' | 'ours'> =>
  (await import('./sqlite/inspect.ts')).inspectFile(path)

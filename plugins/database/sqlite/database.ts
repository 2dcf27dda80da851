/** The Database service on SQLite: one writer, a reader on the main thread, reader threads for long queries. */
import { rmSync } from 'node:fs'
import type { MikroORM } from '@mikro-orm/core'
import type BetterSqlite from 'better-sqlite3'
import { every, isServerError, systemClock } from '../../../kernel/index.ts'
import type { Database, Sql, SqlParam } from '../contract.ts'
import { DatabaseGone, DatabaseNotOpened, DatabaseUnavailable } from '../errors.ts'
import { feedStatus } from '../feed/feed-status.ts'
import { pause } from '../lease/pause.ts'
import { TIMES } from '../lease/times.ts'
import type { Opened, OpenOptions } from '../opening.ts'
import { changesOf, planSchema, type SchemaPlan } from '../schema.ts'
import { cancellable } from './cancellable.ts'
import { type Checkpointer, createCheckpointer } from './checkpointer.ts'
import { countStart } from './count-start.ts'
import { createInMemory } from './create-in-memory.ts'
import { fromSqlite } from './failure.ts'
import { createFileGuard } from './file-guard.ts'
import { type FileLock, lockFile, realPath } from './file-lock.ts'
import { flushInsertBuffer } from './flush-insert-buffer.ts'
import { createInsertBuffer } from './insert-buffer.ts'
import { checkWritable, inspectFile } from './inspect.ts'
import { watchLock } from './lock-watch.ts'
import { mapFile, openReader, openWriter, readRecordedSqliteSchema } from './open.ts'
import { watchOwnFiles } from './own-files.ts'
import { createPublishToFeed } from './publish-to-feed.ts'
import { createReadWorkers, type ReadWorkers } from './read-workers.ts'
import { createSqliteReader } from './reader.ts'
import { checkSingleName } from './single-name.ts'
import { createPreparedStatements } from './statements.ts'
import { createWriter } from './writer.ts'

const LOOK_MS = 1_000 // milliseconds between two checks of the files and the lock, some 10 µs each
const READERS = 4 // spec: default db_pool, read connections for SQLite

const planOf = (handle: BetterSqlite.Database, { plugins, build, release }: OpenOptions): SchemaPlan =>
  planSchema(
    readRecordedSqliteSchema((text) => handle.prepare(text).all() as never[]),
    plugins,
    build,
    release,
  )

/** Migrates the schema: all pending changes, with release and build recorded beside them, in one transaction. */
const migrate = async (handle: BetterSqlite.Database, options: OpenOptions): Promise<void> => {
  const { plugins, build, release, log } = options
  const plan = planOf(handle, options)
  for (const name of plan.orphaned) log.warn({ migration: name }, 'recorded by a plugin that is not loaded')
  const last = plan.pending.at(-1)
  if (last === undefined) return
  const pins = { fhir_version: release, build }
  if (options.kind === 'memory') {
    createInMemory(handle, plan.pending, pins)
    log.info({ applied: plan.pending.map(({ name }) => name) }, 'migrated the database')
    return
  }
  const { openSqliteOrm } = await import('../orm.ts')
  const orm = await openSqliteOrm(handle, {
    entities: [],
    changes: changesOf(plugins),
    kind: 'sqlite',
    pins: { beside: last.name, values: pins },
  })
  try {
    const applied = await orm.getMigrator().up()
    log.info({ applied: applied.map(({ name }) => name) }, 'migrated the database')
  } finally {
    await orm.close(true)
  }
}

const openOrm = async (handle: BetterSqlite.Database, { plugins, entities }: OpenOptions): Promise<MikroORM> => {
  const { openSqliteOrm } = await import('../orm.ts')
  return openSqliteOrm(handle, { entities: await entities(), changes: changesOf(plugins), kind: 'sqlite' })
}

const ignore = (): void => undefined

const guard = <T>(work: () => T): T => {
  try {
    return work()
  } catch (error) {
    throw fromSqlite(error)
  }
}

/** Errors that stop a start name the file. */
const opened = <T>(path: string, work: () => T): T => {
  try {
    return work()
  } catch (error) {
    throw DatabaseNotOpened(path, (error as Error).message).with({ cause: error })
  }
}

/** NOOP copies nothing and reports the length of the WAL. https://sqlite.org/pragma.html#pragma_wal_checkpoint */
const pagesInLog = (handle: BetterSqlite.Database): (() => number) => {
  const look = handle.prepare<[], { log: number; checkpointed: number }>('PRAGMA wal_checkpoint(NOOP)')
  return () => {
    const found = look.get()
    return found === undefined ? 0 : found.log - found.checkpointed
  }
}

const lockOf = ({ sqlitePath, clock, random }: OpenOptions, isPolling = false): FileLock =>
  lockFile(sqlitePath, new Date(clock.now()), random.id(), isPolling)

/**
 * Takes the lock; a server waits for it. Where the lock file cannot be made, the database mostly cannot be written
 * either, and that is reported.
 */
const lockForStart = async (options: OpenOptions, signal: AbortSignal): Promise<FileLock> => {
  const { lease, sqlitePath } = options
  const waits = lease.mode === 'wait'
  for (let isFirst = true; ; isFirst = false) {
    signal.throwIfAborted()
    try {
      const lock = lockOf(options, waits)
      lease.onTaken()
      return lock
    } catch (error) {
      if (!isServerError(error)) {
        await inspectFile(sqlitePath)
        checkWritable(sqlitePath)
        throw DatabaseNotOpened(`${realPath(sqlitePath)}-lock`, (error as Error).message).with({ cause: error })
      }
      if (!waits) throw error
      if (isFirst) lease.onWait(String(error.message))
    }
    await pause(systemClock, TIMES.poll, signal)
  }
}

interface Current {
  readonly handle: BetterSqlite.Database
  /** Whether no other server was started on the file later. */
  readonly isLatest: () => boolean
}

/** Opens the writer and migrates the schema. When it throws, it leaves no new files. */
const openCurrent = async (options: OpenOptions, path: string): Promise<Current> => {
  const inMemory = options.kind === 'memory'
  const isNew = inMemory || (await inspectFile(path)) === 'new'
  if (!inMemory) {
    checkWritable(path)
    checkSingleName(path)
  }
  const handle = opened(path, () => openWriter(path, isNew, options.caches.writer))
  try {
    // Checked first, so that a database that is refused is left unchanged.
    planOf(handle, options)
    // Counted before anything else is read: from then on no other server changes the database unnoticed.
    const isLatest = inMemory ? () => true : opened(path, () => countStart(handle))
    const left = opened(path, () => flushInsertBuffer(handle))
    if (left > 0) options.log.info({ commits: left }, 'put rows into their tables that a process had left behind')
    await migrate(handle, options)
    return { handle, isLatest }
  } catch (error) {
    handle.close()
    if (isNew && !inMemory) for (const suffix of ['', '-wal', '-shm']) rmSync(path + suffix, { force: true })
    throw error
  }
}

/** One server at a time has the file open. */
const ALONE: Pick<Database, 'alone' | 'isShared' | 'isSole' | 'isBeside'> = {
  alone: (_name, work) => work(),
  isShared: async () => false,
  isSole: () => true,
  isBeside: () => false,
}

export const openSqlite = async (options: OpenOptions, signal: AbortSignal): Promise<Opened> => {
  if (options.kind === 'memory') return openLocked(options, ':memory:', undefined)
  // Locked before anything else is done with the file: another process may be writing it.
  const lock = await lockForStart(options, signal)
  try {
    return await openLocked(options, options.sqlitePath, lock)
  } catch (error) {
    lock.release()
    throw error
  }
}

const openLocked = async (options: OpenOptions, path: string, lock: FileLock | undefined): Promise<Opened> => {
  const { log } = options
  const inMemory = options.kind === 'memory'
  const { handle, isLatest } = await openCurrent(options, path)
  const statements = createPreparedStatements(handle, cancellable)
  const checkpointer: Checkpointer | undefined = inMemory
    ? undefined
    : createCheckpointer(path, pagesInLog(handle), (message) =>
        log.warn({ message }, 'the write-ahead log could not be moved'),
      )
  const insertBuffer = createInsertBuffer(handle, statements, !inMemory)
  // A second handle sees only committed rows. A database in memory has one handle, so reads wait while a transaction is
  // open.
  const readHandle = inMemory ? handle : openReader(path, options.caches.reader)
  const real = realPath(path)
  const files = inMemory ? undefined : watchOwnFiles(real)
  const fileGuard = files && createFileGuard({ path: real, files, handle, clock: options.clock, log })
  const lockWatch =
    files &&
    lock &&
    watchLock({ lock, lockAgain: () => lockOf(options), isLatest, files, onTaken: options.lease.onLost, log })
  const longReads: ReadWorkers | undefined = inMemory
    ? undefined
    : createReadWorkers(path, options.pool ?? READERS, options.caches.thread, options.clock)
  const threads = (): ReadWorkers | undefined => (fileGuard?.isLost ? undefined : longReads)
  const writer = createWriter({
    ...{ handle, statements, insertBuffer, threads, clock: options.clock, isReadApart: !inMemory },
    hold: () => lockWatch?.hold(),
    confirm: () => fileGuard?.confirm(),
    onGroup: () => (fileGuard?.isLost || lockWatch?.isTaken ? undefined : checkpointer?.committed()),
    onDone: createPublishToFeed(options.feed, handle.pragma('user_version', { simple: true }) as number),
  })
  for (const one of new Set([handle, readHandle])) mapFile(one, options.sqliteMmapSize)
  const reader = inMemory ? statements : createSqliteReader(handle, createPreparedStatements(readHandle))
  let orm: Promise<MikroORM> | undefined

  /** All reads outside of transactions go through this function. */
  const read = <T>(statement: Sql, work: () => T): T | Promise<T> => {
    if (insertBuffer.concernsReader(statement)) return writer.afterInsertBuffer(() => guard(work))
    const { busy } = inMemory ? writer : { busy: undefined }
    // The transaction may have left rows in the insert buffer.
    if (busy !== undefined) return busy.then(() => read(statement, work))
    return guard(work)
  }
  const confirmPlace = (): void => {
    fileGuard?.confirm()
    lockWatch?.hold()
  }
  // Without writes nothing else would check the lock; an idle server takes a lost one again before another server does.
  const looking = lockWatch && every(options.clock, LOOK_MS, async () => confirmPlace(), ignore)
  const database: Opened['database'] = {
    kind: options.kind,
    get: <R>(statement: Sql, params: readonly SqlParam[]) =>
      read(statement, () => reader.of(statement).get(...params) as R | undefined),
    all: <R>(statement: Sql, params: readonly SqlParam[]) =>
      read(statement, () => reader.of(statement).all(...params) as R[]),
    longQuery: async <R>(statement: Sql, params: readonly SqlParam[], signal?: AbortSignal) => {
      const readers = threads()
      if (readers === undefined) return read(statement, () => reader.of(statement).all(...params) as R[])
      if (insertBuffer.concernsReader(statement)) await writer.afterInsertBuffer(() => undefined)
      return readers.all<R>(statement, params, signal).catch((error) => {
        throw fromSqlite(error)
      })
    },
    threadReaderLocation: () => (inMemory || fileGuard?.isLost ? undefined : { path }),
    // Refused at once, so that the copy of a lost file does not wait for changes that nobody will acknowledge.
    transact: (work, options) =>
      fileGuard?.isLost ? Promise.reject(DatabaseGone().with({ isExpected: true })) : writer.transact(work, options),
    reading: (work) => writer.transact(work),
    orm: () => {
      orm ??= openOrm(handle, options)
      return orm
    },
    status: () => ({
      kind: options.kind,
      pool: longReads?.status ?? { size: 0, busy: 0, waiting: 0 },
      commits: { ...writer.counters },
      ...feedStatus(options.feed),
    }),
    ...ALONE,
  }
  return {
    database,
    async check() {
      if (!handle.open || !writer.isSynced) throw DatabaseUnavailable()
      guard(() => readHandle.prepare('SELECT 1').get())
      return true
    },
    isInPlace() {
      try {
        confirmPlace()
        return true
      } catch {
        return false
      }
    },
    mayAnswer: () => true,
    isOutgrown: () => false,
    isFollowing: () => true,
    async close() {
      options.feed.close()
      await looking?.stop()
      await writer.close()
      await (await orm)?.close(true)
      await Promise.all([longReads?.close(), checkpointer?.close(), fileGuard?.settled()])
      const closeHandles = (): void => {
        if (readHandle !== handle) readHandle.close()
        // Closing the last connection copies the WAL into the file and removes it.
        handle.close()
      }
      if (files === undefined) closeHandles()
      else files.closeApart(closeHandles)
      lockWatch?.release()
    },
  }
}

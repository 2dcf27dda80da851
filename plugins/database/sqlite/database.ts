/** The Database service on SQLite: one writer, a reader on the main thread, reader threads for slow queries. */
import { rmSync } from 'node:fs'
import type { MikroORM } from '@mikro-orm/core'
import type BetterSqlite from 'better-sqlite3'
import type { Clock } from '../../../kernel/index.ts'
import { DatabaseUnavailable } from '../errors.ts'
import type { Opened, OpenOptions } from '../open.ts'
import { changesOf, planSchema } from '../schema.ts'
import type { Param, Sql } from '../service.ts'
import { createBacklog } from './backlog.ts'
import { type Checkpointer, createCheckpointer } from './checkpointer.ts'
import { fromSqlite } from './failure.ts'
import { checkWritable, inspectFile } from './inspect.ts'
import { createLane, type Lane } from './lane.ts'
import { mapFile, openReader, openWriter, readRecordedSchema } from './open.ts'
import { putBacklog } from './put-backlog.ts'
import { createReader } from './reader.ts'
import { createStatements } from './statements.ts'
import { createWriter } from './writer.ts'

const READERS = 4 // spec: default db_pool, read connections for SQLite

/** Brings the schema up to date: all that is pending, with release and build beside it, in one transaction. */
const migrate = async (handle: BetterSqlite.Database, options: OpenOptions): Promise<void> => {
  const { plugins, build, release, log } = options
  const plan = planSchema(
    readRecordedSchema((text) => handle.prepare(text).all() as never[]),
    plugins,
    build,
    release,
  )
  for (const name of plan.orphaned) log.warn({ migration: name }, 'recorded by a plugin that is not loaded')
  const last = plan.pending.at(-1)
  if (last === undefined) return
  const { openSqliteOrm } = await import('../orm.ts')
  const orm = await openSqliteOrm(handle, {
    entities: [],
    changes: changesOf(plugins),
    kind: 'sqlite',
    pins: { beside: last.name, values: { fhir_version: release, build } },
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

const guard = <T>(work: () => T): T => {
  try {
    return work()
  } catch (error) {
    throw fromSqlite(error)
  }
}

/** https://sqlite.org/pragma.html#pragma_wal_checkpoint: NOOP moves nothing and tells how much there would be. */
const pagesInLog = (handle: BetterSqlite.Database): (() => number) => {
  const look = handle.prepare<[], { log: number; checkpointed: number }>('PRAGMA wal_checkpoint(NOOP)')
  return () => {
    const found = look.get()
    return found === undefined ? 0 : found.log - found.checkpointed
  }
}

export const openSqlite = async (options: OpenOptions & { readonly clock: Clock }): Promise<Opened> => {
  const { log } = options
  const inMemory = options.kind === 'memory'
  const path = inMemory ? ':memory:' : options.sqlitePath
  const isNew = inMemory || (await inspectFile(path)) === 'new'
  if (!isNew) checkWritable(path)
  const handle = guard(() => openWriter(path, isNew))
  try {
    const left = guard(() => putBacklog(handle))
    if (left > 0) log.info({ commits: left }, 'put rows into their tables that a process had left behind')
    await migrate(handle, options)
  } catch (error) {
    handle.close()
    if (isNew && !inMemory) for (const suffix of ['', '-wal', '-shm']) rmSync(path + suffix, { force: true })
    throw error
  }

  const statements = createStatements(handle)
  const checkpointer: Checkpointer | undefined = inMemory
    ? undefined
    : createCheckpointer(path, pagesInLog(handle), (message) =>
        log.warn({ message }, 'the write-ahead log could not be moved'),
      )
  const backlog = createBacklog(handle, statements, !inMemory)
  const writer = createWriter(handle, statements, backlog, options.clock, !inMemory, () => checkpointer?.committed())
  // A second handle sees only what is committed. In memory there is one, so a read waits while a transaction is open.
  const readHandle = inMemory ? handle : openReader(path)
  for (const one of new Set([handle, readHandle])) mapFile(one, options.sqliteMmapSize)
  const reader = inMemory ? statements : createReader(handle, createStatements(readHandle))
  const lane: Lane | undefined = inMemory ? undefined : createLane(path, options.pool ?? READERS)
  let orm: Promise<MikroORM> | undefined

  /** The one place through which everything outside a transaction reads; inside, it is the transaction itself. */
  const read = <T>(statement: Sql, work: () => T): T | Promise<T> => {
    if (backlog.concerns(statement)) return writer.behindBacklog(() => guard(work))
    const { busy } = inMemory ? writer : { busy: undefined }
    if (busy !== undefined) return busy.then(() => guard(work))
    return guard(work)
  }
  const database: Opened['database'] = {
    kind: options.kind,
    get: <R>(statement: Sql, params: readonly Param[]) =>
      read(statement, () => reader.of(statement).get(...params) as R | undefined),
    all: <R>(statement: Sql, params: readonly Param[]) =>
      read(statement, () => reader.of(statement).all(...params) as R[]),
    slow: async <R>(statement: Sql, params: readonly Param[], signal?: AbortSignal) => {
      if (lane === undefined) return read(statement, () => reader.of(statement).all(...params) as R[])
      if (backlog.concerns(statement)) await writer.behindBacklog(() => undefined)
      return lane.all<R>(statement, params, signal).catch((error) => {
        throw fromSqlite(error)
      })
    },
    place: () => (inMemory ? undefined : { path }),
    transact: (work, options) => writer.transact(work, options),
    orm: () => {
      orm ??= openOrm(handle, options)
      return orm
    },
    status: () => ({
      kind: options.kind,
      pool: lane?.status ?? { size: 0, busy: 0, waiting: 0 },
      commits: { ...writer.counters },
    }),
    isShared: async () => false,
  }
  return {
    database,
    async check() {
      if (!handle.open) throw DatabaseUnavailable()
      guard(() => readHandle.prepare('SELECT 1').get())
      return true
    },
    async close() {
      await writer.close()
      await (await orm)?.close(true)
      await Promise.all([lane?.close(), checkpointer?.close()])
      if (readHandle !== handle) readHandle.close()
      // The last connection moves the log into the file and removes it.
      handle.close()
    },
  }
}

/** Opens the schema of a PostgreSQL database: what is refused, the writer lease, and the migrations behind it. */
import { MigrationPending } from '../errors.ts'
import type { HeldLease } from '../lease/hold-lease.ts'
import type { LeaseOptions, OpenOptions } from '../opening.ts'
import { planSchema } from '../schema.ts'
import type { Connector } from './client.ts'
import { type LookForPending, whenMigrated } from './follow-schema.ts'
import { inspectServer, type ServerFacts } from './inspect.ts'
import { createOpeningSession, type OpeningSession } from './opening-session.ts'
import { migrate, readRecordedPostgresSchema } from './schema.ts'
import type { Session } from './session.ts'
import { withSession } from './with-session.ts'
import { takeWriterLease } from './writer-lease.ts'

/** Returns the names of the pending migrations, and changes nothing. Throws when this build must not open the database. */
const pendingOf = async (session: Session, { plugins, build, release }: OpenOptions): Promise<readonly string[]> =>
  planSchema(await readRecordedPostgresSchema(session), plugins, build, release).pending.map(({ name }) => name)

/** Migrates the schema behind the lease. A command without the lease changes nothing while a server may be running. */
const prepareSchema = async (
  lease: HeldLease | undefined,
  options: OpenOptions,
  database: string,
  use: OpeningSession['use'],
  signal: AbortSignal | undefined,
): Promise<void> => {
  const look: LookForPending = () => use((session) => pendingOf(session, options))
  if (options.lease.mode === 'read') return whenMigrated(look, options.lease, options.log, signal)
  if (lease === undefined && options.lease.mode === 'try') {
    const pending = await look()
    if (pending.length > 0) throw MigrationPending(pending.join(', '))
    return
  }
  await use((session) => migrate(session, database, options))
  await lease?.begin()
}

export interface OpenedSchema {
  readonly facts: ServerFacts
  /** Undefined for a process that does not write, or writes beside others. */
  readonly lease: HeldLease | undefined
}

export interface OpenSchemaParts {
  readonly migrator: Connector
  /** Opens the session of the lease. */
  readonly own: Connector
  readonly options: OpenOptions
  readonly signal: AbortSignal | undefined
}

/** Looks at the server and the database, takes the writer lease, and migrates the schema behind it. */
export const openSchema = async ({ migrator, own, options, signal }: OpenSchemaParts): Promise<OpenedSchema> => {
  const session = createOpeningSession(migrator, signal)
  try {
    // Refused at once, before it waits for the lease.
    const facts = await session.use(async (one) => {
      const found = await inspectServer(one, options.log)
      await pendingOf(one, options)
      return found
    })
    const onWait: LeaseOptions['onWait'] = (holder) => {
      session.close() // that may take days
      options.lease.onWait(holder)
    }
    const lease = await takeWriterLease(own, { ...options, lease: { ...options.lease, onWait } }, signal)
    try {
      await prepareSchema(lease, options, facts.database, session.use, signal)
    } catch (error) {
      await lease?.release()
      throw error
    }
    return { facts, lease }
  } finally {
    session.close()
  }
}

/** Looks on a session of its own each time. */
export const lookForPending =
  (migrator: Connector, options: OpenOptions): LookForPending =>
  () =>
    withSession(migrator, (session) => pendingOf(session, options))

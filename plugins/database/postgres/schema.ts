/** Brings the schema of a PostgreSQL database up to date, one server at a time. Spec: Versioning 4. */
import type { OpenOptions } from '../opening.ts'
import { changesOf, MIGRATION_TABLE, planSchema, type RecordedSchema } from '../schema.ts'
import { checkRights } from './check-rights.ts'
import type { Session } from './session.ts'

// Key of the lock on which servers that start together wait: an arbitrary number, the same in every build. "rfhr"
const LOCK = 0x72666872

/** Reads the recorded schema; changes nothing. */
export const readRecordedPostgresSchema = async (session: Session): Promise<RecordedSchema> => {
  const { rows } = await session.query<{ migrations: boolean; pins: boolean }>(
    `SELECT to_regclass('${MIGRATION_TABLE}') IS NOT NULL AS migrations, to_regclass('database_pin') IS NOT NULL AS pins`,
  )
  const has = rows[0]!
  const migrations = has.migrations
    ? await session.query<{ name: string; executed_at: string }>(
        `SELECT name, to_char(executed_at AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS') AS executed_at FROM ${MIGRATION_TABLE} ORDER BY id`,
      )
    : { rows: [] }
  const pins = has.pins
    ? await session.query<{ name: string; value: string }>('SELECT name, value FROM database_pin')
    : { rows: [] }
  return {
    migrations: migrations.rows,
    pins: Object.fromEntries(pins.rows.map(({ name, value }) => [name, value])),
  }
}

/** Applies all that is pending in one transaction. Throws when this build must not open the database. */
export const migrate = async (session: Session, database: string, options: OpenOptions): Promise<void> => {
  const { plugins, build, release, log } = options
  const { rows } = await session.query<{ mine: boolean }>(`SELECT pg_try_advisory_lock(${LOCK}) AS mine`)
  if (!rows[0]!.mine) {
    log.info('waiting for another server to migrate the database')
    await session.query(`SELECT pg_advisory_lock(${LOCK})`)
  }
  try {
    const plan = planSchema(await readRecordedPostgresSchema(session), plugins, build, release)
    for (const name of plan.orphaned) log.warn({ migration: name }, 'recorded by a plugin that is not loaded')
    const last = plan.pending.at(-1)
    if (last === undefined) return
    await checkRights(session, database)
    const { openPostgresOrm } = await import('./orm.ts')
    const source = { acquire: async () => session, release: () => {} }
    const orm = await openPostgresOrm(source, database, {
      entities: [],
      changes: changesOf(plugins),
      kind: 'postgres',
      pins: { beside: last.name, values: { fhir_version: release, build } },
    })
    try {
      const applied = await orm.getMigrator().up()
      log.info({ applied: applied.map(({ name }) => name) }, 'migrated the database')
    } finally {
      await orm.close(true)
    }
  } finally {
    // The lock also ends with the session; this lets the next server continue earlier.
    if (session.isUsable) await session.query(`SELECT pg_advisory_unlock(${LOCK})`)
  }
}

/** MikroORM on sessions of this plugin: knex compiles the statements and opens no session itself. */
import type { MikroORM } from '@mikro-orm/core'
import type { QueryConfig } from 'pg'
import { type OrmOptions, ormOptions } from '../orm.ts'
import type { Session } from './session.ts'
import { parserOf } from './values.ts'

/** Gives MikroORM a session for a statement or a transaction. */
export interface SessionSource {
  acquire(): Promise<Session>
  release(session: Session): void
}

// MikroORM parses these types itself: date, timestamp, timestamptz, interval.
const AS_TEXT = new Set([1082, 1114, 1184, 1186])
const types = {
  getTypeParser: (oid: number, format?: 'text' | 'binary') =>
    AS_TEXT.has(oid) ? (text: string) => text : parserOf(oid, format),
}

/** Its `close` closes what MikroORM made, but none of the sessions. */
export const openPostgresOrm = async (
  source: SessionSource,
  database: string,
  options: OrmOptions,
): Promise<MikroORM> => {
  const [{ MikroORM: Orm }, { PostgreSqlKnexDialect, knex }] = await Promise.all([
    import('@mikro-orm/postgresql'),
    import('@mikro-orm/knex'),
  ])
  let count = 0
  class OwnSessions extends (PostgreSqlKnexDialect as any) {
    async acquireConnection() {
      const session = (await source.acquire()) as Session & { __knexUid?: string }
      count += 1
      session.__knexUid = `orm${count}` // knex identifies sessions by it
      return session
    }
    async releaseConnection(session: Session) {
      source.release(session)
    }
    _query(session: Session, query: { options?: Partial<QueryConfig> }) {
      query.options = { ...query.options, types: types as NonNullable<QueryConfig['types']> }
      return super._query(session, query)
    }
  }
  const client = knex({ client: OwnSessions as any, connection: { database }, version: '17' } as any)
  return (await Orm.init({
    ...(await ormOptions(options)),
    dbName: database,
    driverOptions: client,
  })) as unknown as MikroORM
}

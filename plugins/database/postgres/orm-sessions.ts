/** Lends sessions of the pool to MikroORM. */
import type { Lease } from './loan.ts'
import type { SessionSource } from './orm.ts'
import type { Pool } from './pool.ts'
import type { Session } from './session.ts'

/** With `isReader` PostgreSQL refuses what MikroORM would write. */
export const createOrmSessions = (pool: Pool, isReader: boolean): SessionSource => {
  const loans = new Map<Session, Lease>()
  return {
    async acquire() {
      const lease = await pool.acquire({ long: true })
      try {
        if (isReader) await lease.session.query('SET SESSION CHARACTERISTICS AS TRANSACTION READ ONLY')
      } catch (error) {
        lease.destroy()
        throw error
      }
      loans.set(lease.session, lease)
      return lease.session
    },
    release(session) {
      const lease = loans.get(session)
      loans.delete(session)
      // One that refuses to write must not get to anybody else.
      if (isReader) lease?.destroy()
      else lease?.release()
    },
  }
}

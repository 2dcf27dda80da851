/**
 * `Database.alone` on PostgreSQL, for work that one server at a time does, such as the installation of packages. It
 * takes an advisory lock on a session outside the pool, so that it holds no transaction open and no session that others
 * wait for.
 */
import type { Database } from '../contract.ts'
import type { Connector } from './client.ts'
import { fromPostgres } from './failure.ts'
import type { Session } from './session.ts'

/** The key of the lock, with a prefix that keeps it apart from locks of transactions. */
const keyOf = (name: string): string => `alone/${name}`

const lock = async (session: Session, key: string, onWait: (() => void) | undefined): Promise<void> => {
  const { rows } = await session.query<{ mine: boolean }>(
    'SELECT pg_try_advisory_lock(hashtextextended($1, 0)) AS mine',
    [key],
  )
  if (rows[0]?.mine === true) return
  onWait?.()
  await session.query('SELECT pg_advisory_lock(hashtextextended($1, 0))', [key])
}

export const createAlone =
  (connector: Connector): Database['alone'] =>
  async (name, work, { signal, onWait } = {}) => {
    const session = await connector.connect(signal)
    // Once the session is gone, the server does not grant the lock that it waited for.
    const cut = (): void => session.destroy()
    signal?.addEventListener('abort', cut)
    try {
      await lock(session, keyOf(name), onWait)
    } catch (error) {
      session.destroy()
      signal?.throwIfAborted()
      throw fromPostgres(error)
    } finally {
      signal?.removeEventListener('abort', cut)
    }
    try {
      return await work()
    } finally {
      // The lock ends with the session.
      await session.end().catch(() => undefined)
    }
  }

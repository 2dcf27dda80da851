/**
 * Work that one server at a time does, such as the installation of packages: an advisory lock on a session of its own,
 * beside the pool, so that it holds no transaction open and no session that others wait for.
 */
import type { Database } from '../contract.ts'
import type { Connector } from './client.ts'
import { fromPostgres } from './failure.ts'
import type { Session } from './session.ts'

/** Names of this kind of lock, apart from those that transactions hold. */
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
    // The server gives a lock that is waited for to nobody once the session is gone.
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

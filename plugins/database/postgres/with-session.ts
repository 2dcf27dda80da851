/** Runs work on a session of its own, which is closed in any case. */
import type { Logger } from '../../../kernel/index.ts'
import { type Connector, createConnector } from './client.ts'
import { parseConninfo } from './conninfo.ts'
import type { Session, SessionLimits } from './session.ts'
import { createTlsFiles } from './tls-files.ts'

export const withSession = async <T>(connector: Connector, work: (session: Session) => Promise<T>): Promise<T> => {
  const session = await connector.connect()
  try {
    return await work(session)
  } finally {
    void session.end()
  }
}

/** Takes a connection string. Throws what it or its files do not allow. */
export const withSessionAt = async <T>(
  url: string,
  limits: SessionLimits,
  log: Logger,
  work: (session: Session) => Promise<T>,
): Promise<T> => {
  const conninfo = parseConninfo(url)
  const files = createTlsFiles(conninfo.tls, log)
  await files.current()
  return withSession(createConnector({ conninfo, files, limits, log }), work)
}

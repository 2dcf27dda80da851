/** The session on which a start looks at the database and migrates it: one for all steps, closed while a step waits for others. */
import type { Connector } from './client.ts'
import type { Session } from './session.ts'

export interface OpeningSession {
  /** Runs `work` on the session, which is opened where there is none. One that fails is closed. */
  use<T>(work: (session: Session) => Promise<T>): Promise<T>
  /** Closes the session; the next `use` opens another one. */
  close(): void
}

export const createOpeningSession = (connector: Connector, signal: AbortSignal | undefined): OpeningSession => {
  let current: Session | undefined
  const close = (): void => {
    void current?.end()
    current = undefined
  }
  return {
    async use(work) {
      if (current?.isUsable !== true) current = await connector.connect(signal)
      try {
        return await work(current)
      } catch (error) {
        close()
        throw error
      }
    },
    close,
  }
}

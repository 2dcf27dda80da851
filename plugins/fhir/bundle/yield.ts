/** Lets other requests run while a large Bundle is processed, and stops the work when the client has disconnected. */
import { createPause, type RequestContext } from '../../../kernel/index.ts'
import { ClientDisconnected } from './errors.ts'

/**
 * Await the returned function after each entry; every few milliseconds it yields to the event loop. It throws
 * ClientDisconnected.
 */
export const createYield = ({ signal }: RequestContext): (() => Promise<void> | undefined) =>
  createPause(() => {
    if (signal.aborted) throw ClientDisconnected()
  })

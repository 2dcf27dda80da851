/** Lets other requests in while a large Bundle is worked through, and ends the work for a client that has left. */
import { createPause, type RequestContext } from '../../../kernel/index.ts'
import { ClientDisconnected } from './errors.ts'

/** To be awaited at each entry; gives way every few milliseconds. Throws when nobody waits for the answer any more. */
export const createYield = ({ signal }: RequestContext): (() => Promise<void> | undefined) =>
  createPause(() => {
    if (signal.aborted) throw ClientDisconnected()
  })

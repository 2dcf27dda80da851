/** Lets other requests in while a large Bundle is worked through, and ends the work for a client that has left. */
import type { RequestContext } from '../../../kernel/index.ts'
import { BundleLeft } from './errors.ts'

const ENTRIES = 64 // between two turns of the event loop: some ten milliseconds

const turn = async ({ signal }: RequestContext): Promise<void> => {
  await new Promise((resolve) => setImmediate(resolve))
  if (signal.aborted) throw BundleLeft()
}

/** To be awaited at each entry; gives way at every so many. Throws when nobody waits for the answer any more. */
export const breathe = (request: RequestContext, done: number): Promise<void> | undefined =>
  done % ENTRIES === ENTRIES - 1 ? turn(request) : undefined

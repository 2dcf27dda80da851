/** Lets other requests in while a large Bundle is worked through. */

const ENTRIES = 64 // between two turns of the event loop: some ten milliseconds

/** To be awaited at each entry; gives way at every so many. */
export const breathe = (done: number): Promise<void> | undefined =>
  done % ENTRIES === ENTRIES - 1 ? new Promise((resolve) => setImmediate(resolve)) : undefined

/**
 * Copies a large body into shared memory while it arrives. Joining the parts of a body of 20 MB at its end would block
 * the event loop for too long. A thread reads the shared memory without another copy.
 */

const STEP_BYTES = 1024 * 1024 // growth of the memory, so that it follows what has arrived, whatever size was announced

export interface SharedBytes {
  add(chunk: Uint8Array): void
  /** All bytes added so far. */
  toBuffer(): Buffer
}

/** Holds at most `most` bytes. Only address space is reserved for them beforehand. */
export const createSharedBytes = (most: number): SharedBytes => {
  const memory = new SharedArrayBuffer(0, { maxByteLength: most })
  let size = 0
  return {
    add(chunk) {
      const end = size + chunk.length
      if (end > memory.byteLength) memory.grow(Math.min(most, Math.ceil(end / STEP_BYTES) * STEP_BYTES))
      new Uint8Array(memory, size, chunk.length).set(chunk)
      size = end
    },
    toBuffer: () => Buffer.from(memory, 0, size),
  }
}

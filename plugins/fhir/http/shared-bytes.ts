/**
 * The bytes of a large body, copied where they belong as they arrive: joining the parts of one of twenty megabytes at its
 * end would be a turn of its own. The memory is shared, so that a thread reads it where it lies.
 */

const STEP_BYTES = 1024 * 1024 // by which it grows: memory is taken for what has arrived, whatever was announced

export interface SharedBytes {
  add(chunk: Uint8Array): void
  /** What was added so far. */
  toBuffer(): Buffer
}

/** `most` bytes at most; a range of addresses is reserved for them. */
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

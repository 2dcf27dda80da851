/**
 * The memory that a server aims to stay within, [server] memory_bytes, and how caches take their shares of it. It bounds what
 * is kept; what one request needs comes on top and is freed after it.
 */
import { totalmem } from 'node:os'

const MIB = 1024 * 1024
/** Where memory_bytes is not set: enough for some thousand requests in a second. */
const DEFAULT_BYTES = 400 * MIB
/** Each cache states its share as bytes of this budget. */
const SHARES_OF = 512 * MIB
/** Of the limit of a container or the memory of a machine that has less: the rest is for the system's page cache. */
const OF_LIMIT = 0.75

export interface MemoryBudget {
  /** Bytes of the whole process. */
  readonly bytes: number
  /** Bytes that a cache may take, which is given `usual` bytes of 512 MiB; `least` and `most` bound it. */
  share(usual: number, bounds?: { readonly least?: number; readonly most?: number }): number
}

/** The memory that this process may use: the limit of its container (cgroup v1 or v2), else that of the machine. */
export const memoryLimit = (constrained = process.constrainedMemory(), machine = totalmem()): number =>
  // A container without a limit reports 0, or more than the machine has.
  constrained > 0 ? Math.min(constrained, machine) : machine

export const createMemoryBudget = (asked: number | undefined, limit = memoryLimit()): MemoryBudget => {
  const bytes = asked ?? Math.min(DEFAULT_BYTES, Math.floor(limit * OF_LIMIT))
  return {
    bytes,
    share: (usual, { least = 0, most = Number.POSITIVE_INFINITY } = {}) =>
      Math.min(Math.max(Math.floor((usual / SHARES_OF) * bytes), least), most),
  }
}

/**
 * For threads that only pass rows on: their young generation would otherwise grow as large as that of the main thread. The
 * old one is bounded by what V8 allows the process.
 */
export const THREAD_LIMITS = Object.freeze({ maxYoungGenerationSizeMb: 16 })

/** Heap of a thread that works on one large body or code system: `most` megabytes, or half of what the process may use. */
export const threadHeapMegabytes = (most: number, limit = memoryLimit()): number =>
  Math.min(most, Math.max(64, Math.floor(limit / 2 / MIB)))

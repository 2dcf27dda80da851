/** Sizes of SQLite's page caches. SQLite allocates a page only when it reads or writes one. */
import type { MemoryBudget } from '../../../kernel/index.ts'

const KIB = 1_024
const MIB = 1_024 * KIB

/** KiB, by handle. Reads of mapped pages need no cache, so its bounds cost little where the file is mapped. */
export interface CacheSizes {
  /** Pages that a transaction has changed are in it until COMMIT: too small a one writes them several times. */
  readonly writer: number
  /** Dropped with every commit of the writer. */
  readonly reader: number
  /** Of each reader thread. */
  readonly thread: number
}

export const cacheSizesOf = ({ share }: MemoryBudget): CacheSizes => {
  const kib = (usual: number, least: number, most: number): number => Math.floor(share(usual, { least, most }) / KIB)
  return {
    writer: kib(64 * MIB, 8 * MIB, 1_024 * MIB),
    reader: kib(16 * MIB, 4 * MIB, 32 * MIB),
    thread: kib(8 * MIB, 2 * MIB, 16 * MIB),
  }
}

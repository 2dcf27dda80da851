/** How much of the file SQLite may keep in memory. It takes a page when it has read one, and none before. */
import { totalmem } from 'node:os'

const KIB = 1_024
const MIN_KIB = 32_768
const MAX_KIB = 1_048_576
/** Of the memory that this process may use: what the machine caches of the file itself costs a system call per page. */
const SHARE = 1 / 32

/** `limit`: bytes that the machine or the container leaves to this process. */
export const cacheSizeKib = (limit: number = memoryLimit()): number =>
  Math.min(Math.max(Math.floor((limit * SHARE) / KIB), MIN_KIB), MAX_KIB)

/** A container without a limit tells none, or one that no machine has. */
const memoryLimit = (): number => {
  const constrained = process.constrainedMemory()
  return constrained > 0 ? Math.min(constrained, totalmem()) : totalmem()
}

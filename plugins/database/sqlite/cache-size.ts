/** Size of SQLite's page cache. SQLite allocates a page only when it reads one. */
import { totalmem } from 'node:os'

const KIB = 1_024
const MIN_KIB = 32_768
const MAX_KIB = 1_048_576
/** Part of the memory that this process may use: a page in the operating system's cache costs a system call instead. */
const SHARE = 1 / 32

/** `limit`: bytes of memory available to this process, by the machine or the container. */
export const cacheSizeKib = (limit: number = memoryLimit()): number =>
  Math.min(Math.max(Math.floor((limit * SHARE) / KIB), MIN_KIB), MAX_KIB)

/** A container without a limit reports 0, or more than the machine has. */
const memoryLimit = (): number => {
  const constrained = process.constrainedMemory()
  return constrained > 0 ? Math.min(constrained, totalmem()) : totalmem()
}

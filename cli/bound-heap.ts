/**
 * Bounds how far V8 lets its old generation grow before it collects it: with memory to spare to four times what lives in it.
 * The bound is soft: what requests need for a moment is allocated, and the process does not end.
 */
import { setFlagsFromString } from 'node:v8'

const GIB = 1024 ** 3
/** Percent of what lived after a collection at which the next one begins, up to so many bytes of memory. */
const GROWTH = [
  { upto: GIB / 4, percent: 50 },
  { upto: 2 * GIB, percent: 100 },
]

/** Percent; undefined leaves it to V8. `bytes`: [server] memory_bytes. */
export const heapGrowthOf = (bytes: number): number | undefined => GROWTH.find(({ upto }) => bytes <= upto)?.percent

/** V8 reads the flag at each collection, and for all threads. */
export const boundHeap = (bytes: number): void => {
  const percent = heapGrowthOf(bytes)
  if (percent !== undefined) setFlagsFromString(`--heap-growing-percent=${percent}`)
}

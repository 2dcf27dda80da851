/** Measures the memory that this process holds, so that a test can say what must not gather there. */
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

/**
 * Returns a function that collects and returns the bytes held in the heap and in buffers: the least of three looks,
 * because memory of buffers that nobody holds any more is given back some time after a collection.
 */
export const watchHeldMemory = (): (() => Promise<number>) => {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  return async () => {
    let least = Number.POSITIVE_INFINITY
    for (let look = 0; look < 3; look += 1) {
      collect()
      await new Promise(setImmediate)
      const { heapUsed, external } = process.memoryUsage()
      least = Math.min(least, heapUsed + external)
    }
    return least
  }
}

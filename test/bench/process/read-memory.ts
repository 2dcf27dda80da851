/** Memory of this process, after a collection. */
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

export interface MemoryUse {
  /** Bytes of JavaScript that are in use. */
  readonly heap: number
  readonly rss: number
}

export const readMemory = (): MemoryUse => {
  setFlagsFromString('--expose-gc')
  runInNewContext('gc')()
  const { heapUsed, external, rss } = process.memoryUsage()
  return { heap: heapUsed + external, rss }
}

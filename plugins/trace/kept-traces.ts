/** The last traces, in memory: MAX_TRACES of MAX_TRACE_BYTES each are 8 MB. */
import type { Trace } from './trace.ts'

export const MAX_TRACES = 64

export interface KeptTraces {
  add(trace: Trace): void
  remove(trace: Trace): void
  get(id: string): Trace | undefined
}

export const createKeptTraces = (): KeptTraces => {
  const kept = new Map<string, Trace>()
  return {
    add(trace) {
      kept.set(trace.id, trace)
      const [oldest] = kept.keys()
      if (kept.size > MAX_TRACES && oldest !== undefined) kept.delete(oldest)
    },
    remove: ({ id }) => void kept.delete(id),
    get: (id) => kept.get(id),
  }
}

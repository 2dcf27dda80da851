/** One round of load on a measured process: pace, and CPU time per request. */
import { type LoadOptions, type LoadResult, load } from './client.ts'
import type { Round } from './compare.ts'
import type { CpuUse } from './process/subject.ts'

export interface Measured extends Round {
  readonly result: LoadResult
}

export const measure = async (subject: { cpu(): Promise<CpuUse> }, options: LoadOptions): Promise<Measured> => {
  const before = await subject.cpu()
  const result = await load(options)
  const after = await subject.cpu()
  const cpu = (after.micros - before.micros) / result.done
  return { perSecond: result.perSecond, cpu, busy: (cpu * result.perSecond) / 1_000_000, result }
}

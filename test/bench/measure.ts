/** One round of load on a measured process: pace, and CPU time per request. */
import { join } from 'node:path'
import type { Bench } from './bench.ts'
import { type LoadOptions, type LoadResult, load } from './client.ts'
import type { Round } from './compare.ts'
import type { House } from './house.ts'

export interface Measured extends Round {
  readonly result: LoadResult
}

/** `finish` does what the load has left to be done: its time and its CPU time count. */
export const measure = async (
  subject: House,
  options: LoadOptions,
  finish?: () => Promise<unknown>,
): Promise<Measured> => {
  const before = await subject.cpu()
  const result = await load(options)
  const loadedAt = performance.now()
  await finish?.()
  const seconds = result.done / result.perSecond + (finish === undefined ? 0 : (performance.now() - loadedAt) / 1000)
  const after = await subject.cpu()
  const cpu = (after.micros - before.micros) / result.done
  const perSecond = result.done / seconds
  return { perSecond, cpu, busy: (cpu * perSecond) / 1_000_000, result }
}

/** With `--profile`: one more round of a side, with a CPU profile of its main thread. */
export const profile = async (
  { profileFolder, seconds }: Bench,
  name: string,
  subject: House,
  run: (seconds: number) => Promise<unknown>,
): Promise<void> => {
  if (profileFolder !== undefined) await subject.profile(join(profileFolder, `${name}.cpuprofile`), () => run(seconds))
}

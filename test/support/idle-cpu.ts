/** How much of the machine's processors nobody uses. */
import { cpus } from 'node:os'
import { setTimeout as later } from 'node:timers/promises'

const SAMPLE_MS = 300

interface Times {
  readonly idle: number
  readonly all: number
}

const readTimes = (): Times => {
  const cores = cpus().map(({ times }) => times)
  const idle = cores.reduce((sum, one) => sum + one.idle, 0)
  const all = cores.reduce((sum, one) => sum + one.user + one.nice + one.sys + one.idle + one.irq, 0)
  return { idle, all }
}

/** Cores that were idle during the next 300 ms, such as 0.7. */
export const idleCores = async (): Promise<number> => {
  const before = readTimes()
  await later(SAMPLE_MS)
  const after = readTimes()
  return after.all === before.all ? 0 : (cpus().length * (after.idle - before.idle)) / (after.all - before.all)
}

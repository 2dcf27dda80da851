/**
 * CPU time of a process, of the processes it started and that still run, and of those that have ended: from /proc.
 * Beside the time that a file of tests took it tells how long the file waited.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs'

const TICKS = 100 // a second: USER_HZ, the same on all of Linux
const FIRST = 11 // behind the state: utime, stime, and those of children that were waited for, cutime, cstime

interface Known {
  readonly parent: number
  readonly ticks: number
}

const readAll = (): ReadonlyMap<number, Known> => {
  const all = new Map<number, Known>()
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue
    try {
      // The format is `12 (name with or without blanks) S 1 …`
      const fields = readFileSync(`/proc/${name}/stat`, 'utf8')
        .replace(/^.*\) /s, '')
        .split(' ')
        .map(Number)
      const ticks = fields.slice(FIRST, FIRST + 4).reduce((sum, one) => sum + one, 0)
      all.set(Number(name), { parent: fields[1] as number, ticks })
    } catch {
      // it has ended
    }
  }
  return all
}

/** Seconds, of a process, this one where it is not said, and of all that it started; undefined where there is no /proc. */
export const treeCpu = (root = process.pid): number | undefined => {
  if (!existsSync('/proc/self/stat')) return undefined
  const all = readAll()
  const isOurs = (pid: number): boolean => {
    if (pid === root) return true
    const parent = all.get(pid)?.parent
    return parent !== undefined && parent > 1 && isOurs(parent)
  }
  let ticks = 0
  for (const [pid, known] of all) if (isOurs(pid)) ticks += known.ticks
  return ticks / TICKS
}

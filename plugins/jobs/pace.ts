/**
 * Gives way to requests while a job works: in turns of about two milliseconds on the main thread, each followed by a rest that is
 * at least as long. While requests keep the event loop busy, rests grow, and then include the time that threads worked for
 * the job, which take cores from others.
 */
const WORK_MS = 2 // of work on the main thread in one turn, about
const BUSY = 0.3 // share of a rest in which others worked: from here on they are taken to wait for more
const FACTORS = { least: 1, most: 16 } // how many times as long as the work a rest is
const MOST_MS = 500 // of one rest
const ASIDE_MS = 10 // of work of threads, after which there is a rest whatever the main thread did

export interface Pace {
  /** To be awaited after each item of work. */
  pause(): Promise<void> | undefined
  /** Work begins now, after a wait. `aside`: milliseconds in which threads worked for the job meanwhile. */
  resume(aside?: number): void
}

export interface PaceParts {
  /** Milliseconds. */
  now(): number
  sleep(ms: number): Promise<void>
  /** Starts to observe the event loop; the function tells in which share of the time since it was busy. */
  observe(): () => number
}

const real: PaceParts = {
  now: () => performance.now(),
  sleep: (ms) => new Promise((resolve) => setTimeout(resolve, ms)),
  observe() {
    const before = performance.eventLoopUtilization()
    return () => performance.eventLoopUtilization(before).utilization
  },
}

export const createPace = ({ now, sleep, observe }: PaceParts = real): Pace => {
  let since = now()
  let aside = 0
  let factor = FACTORS.least
  const rest = async (worked: number): Promise<void> => {
    const busy = observe()
    await sleep(Math.max(1, worked))
    const isBusy = busy() > BUSY
    factor = isBusy ? Math.min(FACTORS.most, factor * 2) : Math.max(FACTORS.least, factor / 2)
    if (isBusy) await sleep(Math.min(MOST_MS, (worked + aside) * (factor - 1)))
    aside = 0
    since = now()
  }
  return {
    pause() {
      const worked = now() - since
      return worked < WORK_MS && aside < ASIDE_MS ? undefined : rest(worked)
    },
    resume(more = 0) {
      aside += more
      since = now()
    },
  }
}

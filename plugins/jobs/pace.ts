/**
 * Makes a job give way to requests: it works on the main thread for about two milliseconds at a time, and each turn is
 * followed by a rest that is at least as long. While requests keep the event loop busy, rests grow, and also cover the
 * time in which worker threads of the job used other cores.
 */
const WORK_MS = 2 // about; work on the main thread in one turn
const BUSY = 0.3 // share of a rest in which requests were worked on; from here on more of them are assumed to wait
const FACTORS = { least: 1, most: 16 } // how many times as long as the work a rest is
const MAX_REST_MS = 500
const ASIDE_MS = 10 // work of threads after which there is a rest, however little the main thread worked

export interface Pace {
  /** To be awaited after each item of work. */
  pause(): Promise<void> | undefined
  /** Work begins now, after a wait. `aside`: milliseconds in which worker threads worked for the job meanwhile. */
  resume(aside?: number): void
}

export interface PaceParts {
  /** Milliseconds. */
  now(): number
  sleep(ms: number): Promise<void>
  /** Starts to observe the event loop; the function returns the share of the time since in which it was busy. */
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
    if (isBusy) await sleep(Math.min(MAX_REST_MS, (worked + aside) * (factor - 1)))
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

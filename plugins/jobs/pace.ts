/**
 * Gives way to requests while a job works on the main thread: it rests as long as it worked, and longer while others keep
 * the event loop busy, so that they keep at least four fifths of the time.
 */
const WORK_MS = 4 // of work in one turn, about
const BUSY = 0.3 // share of a rest in which others worked: from here on they are taken to wait for more
const BUSY_RESTS = 5 // how many times as long a rest is then

export interface Pace {
  /** To be awaited after each item of work. */
  pause(): Promise<void> | undefined
  /** Work begins now, after a wait. */
  resume(): void
}

const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))

export const createPace = (): Pace => {
  let since = performance.now()
  const rest = async (worked: number): Promise<void> => {
    const before = performance.eventLoopUtilization()
    await sleep(worked)
    const { active, idle } = performance.eventLoopUtilization(before)
    if (active / (active + idle) > BUSY) await sleep(worked * (BUSY_RESTS - 1))
    since = performance.now()
  }
  return {
    pause() {
      const worked = performance.now() - since
      return worked < WORK_MS ? undefined : rest(worked)
    },
    resume() {
      since = performance.now()
    },
  }
}

/** Asks small things of a server every ten milliseconds, over connections of their own, and keeps how long each took. */
import { Agent, request } from 'node:http'

const EVERY_MS = 10

export interface Times {
  readonly count: number
  readonly p50: number
  readonly p99: number
  readonly most: number
  /** Answers that were not 200. */
  readonly wrong: number
}

export interface Stopwatch {
  /** Times since it began, and ends it. */
  stop(): Promise<Times>
}

const toTimes = (all: readonly number[], wrong: number): Times => {
  const sorted = all.toSorted((one, other) => one - other)
  const at = (share: number): number => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0
  return { count: sorted.length, p50: at(0.5), p99: at(0.99), most: sorted.at(-1) ?? 0, wrong }
}

/** Each request is sent when it is due, whether or not the one before it was answered: a stall is seen by all that meet it. */
export const startStopwatch = (url: string): Stopwatch => {
  const agent = new Agent({ keepAlive: true, maxSockets: 64 })
  const times: number[] = []
  const open = new Set<Promise<void>>()
  let wrong = 0
  const ask = (): void => {
    const from = performance.now()
    const done = new Promise<void>((resolve) => {
      const end = (isRight: boolean): void => {
        times.push(performance.now() - from)
        if (!isRight) wrong += 1
        resolve()
      }
      request(url, { agent }, (answer) => {
        answer
          .resume()
          .on('end', () => end(answer.statusCode === 200))
          .on('error', () => end(false))
      })
        .on('error', () => end(false))
        .end()
    })
    open.add(done)
    void done.then(() => open.delete(done))
  }
  const timer = setInterval(ask, EVERY_MS)
  return {
    async stop() {
      clearInterval(timer)
      await Promise.all(open)
      agent.destroy()
      return toTimes(times, wrong)
    },
  }
}

/** Delivers changes to live queries in order, after the answers of the COMMIT, in turns of two milliseconds. */
import type { Change } from './change-source.ts'
import type { Place } from './place.ts'

const TURN_MS = 2

export interface ChangeQueue {
  /** How many wait. */
  readonly length: number
  /** Right behind the last change that was delivered. Undefined before the first one. */
  readonly processed: Place | undefined
  push(changes: readonly Change[]): void
  /** Resolves when all that wait now were delivered, and when the queue is emptied. */
  settled(): Promise<void>
  /** Discards the changes that wait. */
  clear(): void
}

/** `give` must not throw. */
export const createChangeQueue = (give: (change: Change) => void): ChangeQueue => {
  let queue: Change[] = []
  let at = 0
  let pushed = 0
  let count = 0
  let processed: Place | undefined
  let isScheduled = false
  let waiting: { readonly count: number; readonly resolve: () => void }[] = []

  const wake = (): void => {
    if (waiting.length === 0) return
    const done = waiting.filter((one) => one.count <= count)
    waiting = waiting.filter((one) => one.count > count)
    for (const { resolve } of done) resolve()
  }
  const work = (): void => {
    isScheduled = false
    const end = performance.now() + TURN_MS
    while (at < queue.length) {
      const change = queue[at] as Change
      at += 1
      give(change)
      // `give` may have cleared the queue, and then this change is not counted.
      if (queue.length === 0) break
      count += 1
      processed = change.place
      if (performance.now() > end) break
    }
    if (at < queue.length) schedule()
    else {
      queue = []
      at = 0
    }
    wake()
  }
  const schedule = (): void => {
    if (isScheduled) return
    isScheduled = true
    setImmediate(work)
  }
  return {
    get length() {
      return queue.length - at
    },
    get processed() {
      return processed
    },
    push(changes) {
      for (const change of changes) queue.push(change)
      pushed += changes.length
      schedule()
    },
    settled() {
      if (count >= pushed) return Promise.resolve()
      return new Promise((resolve) => {
        waiting.push({ count: pushed, resolve })
      })
    },
    clear() {
      queue = []
      at = 0
      count = pushed
      processed = undefined
      wake()
    },
  }
}

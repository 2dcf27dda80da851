/** Changes that wait to be given to live queries: in their order, behind the answers of the COMMIT, a little at a time. */
import type { Change } from './change-source.ts'

const TURN_MS = 2

export interface ChangeQueue {
  /** How many wait. */
  readonly length: number
  /** Number of the last change that was given on. */
  readonly processed: number
  push(changes: readonly Change[]): void
  /** Resolves when this change was given on, and when the queue is emptied. */
  reached(seq: number): Promise<void>
  /** Forgets what waits, and begins with other numbers. */
  clear(): void
}

/** `give` must not throw. */
export const createChangeQueue = (give: (change: Change) => void): ChangeQueue => {
  let queue: Change[] = []
  let at = 0
  let processed = 0
  let isScheduled = false
  let waiting: { readonly seq: number; readonly resolve: () => void }[] = []

  const wake = (isOver: (seq: number) => boolean): void => {
    if (waiting.length === 0) return
    const done = waiting.filter(({ seq }) => isOver(seq))
    waiting = waiting.filter(({ seq }) => !isOver(seq))
    for (const { resolve } of done) resolve()
  }
  const work = (): void => {
    isScheduled = false
    const end = performance.now() + TURN_MS
    while (at < queue.length) {
      const change = queue[at] as Change
      at += 1
      give(change)
      // It may have cleared the queue.
      if (queue.length === 0) break
      processed = change.seq
      if (performance.now() > end) break
    }
    if (at < queue.length) schedule()
    else {
      queue = []
      at = 0
    }
    wake((seq) => seq <= processed)
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
      schedule()
    },
    reached(seq) {
      if (processed >= seq) return Promise.resolve()
      return new Promise((resolve) => {
        waiting.push({ seq, resolve })
      })
    },
    clear() {
      queue = []
      at = 0
      processed = 0
      wake(() => true)
    },
  }
}

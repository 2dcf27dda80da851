/** The one who keeps something beside the resources, and the checks of other plugins: added in their setups. */
import type { ChangeObserver } from './change-observer.ts'
import type { WriteCheck } from './write-check.ts'

export interface Observers {
  /** In setup only, once. */
  observe(observer: ChangeObserver): void
  /** In setup only. */
  check(check: WriteCheck): void
  /** In the order in which they were added. */
  readonly checks: readonly WriteCheck[]
  readonly observer: ChangeObserver
  /** From now on nothing is added. */
  close(): void
}

const NOBODY: ChangeObserver = {
  write: () => undefined,
  committed: () => undefined,
  patients: () => [],
  lookAgain: async () => undefined,
}

export const createObservers = (): Observers => {
  const checks: WriteCheck[] = []
  let observer: ChangeObserver | undefined
  let isClosed = false
  const add = (what: string): void => {
    if (isClosed) throw new Error(`${what} is added after the setup`)
  }
  return {
    observe(given) {
      add('an observer of changes')
      if (observer !== undefined) throw new Error('there is an observer of changes already')
      observer = given
    },
    check(given) {
      add(`the check ${given.name}`)
      checks.push(given)
    },
    checks,
    get observer() {
      return observer ?? NOBODY
    },
    close() {
      isClosed = true
    },
  }
}

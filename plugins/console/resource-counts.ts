/** How many resources there are of each type: counted at most once a minute, whoever looks. */
import type { Clock, Logger } from '../../kernel/index.ts'
import { inTime } from './in-time.ts'

const KEPT_MS = 60_000
const COUNT_MS = 5_000

export interface ResourceCounts {
  /** When it was counted, in milliseconds since the epoch. */
  readonly at: number
  readonly types: readonly { readonly type: string; readonly count: number }[]
}

export interface ResourceCountsParts {
  readonly countTypes: (signal: AbortSignal) => Promise<ResourceCounts['types']>
  readonly clock: Clock
  readonly log: Logger
}

/** Gives the last counts; undefined where there are none, because counting took too long or failed. */
export const createResourceCounts = ({ countTypes, clock, log }: ResourceCountsParts) => {
  const never = new AbortController().signal // several requests wait for one count
  let last: ResourceCounts | undefined
  let tried = Number.NEGATIVE_INFINITY
  let counting: Promise<void> | undefined
  const count = async (): Promise<void> => {
    const at = clock.now()
    try {
      const types = await inTime(clock, COUNT_MS, never, countTypes)
      if (types !== undefined) last = { at, types }
    } catch (error) {
      log.warn({ err: error }, 'resources could not be counted')
    } finally {
      tried = clock.monotonic()
      counting = undefined
    }
  }
  return async (): Promise<ResourceCounts | undefined> => {
    if (clock.monotonic() - tried >= KEPT_MS) counting ??= count()
    await counting
    return last
  }
}

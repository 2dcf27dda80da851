/** The changes that resumed queries have missed, from memory or as the source has stored them. */
import { type HeardChange, type Listening, PACKAGES } from './change-source.ts'
import type { Place } from './place.ts'
import { createRecentChanges, type RecentChange } from './recent-changes.ts'

/** Types whose changes may give a search another meaning. Then the earlier matches of a client are unknown. */
const MEANINGS = ['SearchParameter', 'ValueSet', 'CodeSystem', PACKAGES]

export interface MissedChanges {
  /** A listening has begun, whose changes are added from now on. */
  begin(listening: Listening): void
  add(changes: readonly HeardChange[]): void
  /**
   * The changes of resources of a type behind a place. Undefined where some are not known, or where the search may have
   * another meaning since. Rejects with 5xx.
   */
  behind(place: Place, type: string): Promise<readonly RecentChange[] | undefined>
  clear(): void
}

export const createMissedChanges = (): MissedChanges => {
  const recent = createRecentChanges()
  let listening: Listening | undefined
  /** Reads run one at a time, as one may make the next one unnecessary. */
  let reading: Promise<unknown> = Promise.resolve()

  /** Adds the changes behind a place that were committed before the listening began. */
  const readBack = (one: Listening, place: Place): Promise<void> => {
    const read = reading.then(async () => {
      if (listening !== one || recent.covers(place)) return
      const changes = await one.behind(place, recent.from)
      if (listening === one && changes !== undefined) recent.prepend(place, changes)
    })
    reading = read.catch(() => undefined)
    return read
  }
  return {
    begin(one) {
      listening = one
      recent.begin(one.from)
    },
    add: recent.add,
    async behind(place, type) {
      const one = listening
      if (one === undefined || !(await one.holds(place))) return undefined
      if (!recent.covers(place)) await readBack(one, place)
      if (listening !== one || !recent.covers(place)) return undefined
      if (MEANINGS.some((meaning) => recent.since(place, meaning).length > 0)) return undefined
      return recent.since(place, type)
    },
    clear() {
      listening = undefined
      recent.clear()
    },
  }
}

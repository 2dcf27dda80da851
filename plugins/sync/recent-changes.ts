/** The last changes, without their content, for queries that are resumed. */
import type { HeardChange } from './change-source.ts'
import { isBehind, type Spot } from './place.ts'

const MIN_KEPT = 10_000 // changes

/** All changes of a resource behind a place. */
export interface RecentChange {
  readonly id: string
  /** Number of the version that the first change has made. */
  readonly first: number
  /** Of the version that the last change has made. */
  readonly last: number
}

export interface RecentChanges {
  /** Everything behind this place will be added. */
  begin(from: Spot): void
  add(changes: readonly HeardChange[]): void
  /** Everything behind this place is known. */
  readonly from: Spot
  /** Whether everything behind the place is known. */
  covers(spot: Spot): boolean
  /** Adds everything behind an earlier place: `changes`, of which some may be known already. */
  prepend(from: Spot, changes: readonly HeardChange[]): void
  /** What happened to each resource of a type behind a place that is covered. */
  since(spot: Spot, type: string): readonly RecentChange[]
  clear(): void
}

export const createRecentChanges = (): RecentChanges => {
  let kept: HeardChange[] = []
  let from: Spot = { seq: Number.MAX_SAFE_INTEGER, within: 0 }
  return {
    get from() {
      return from
    },
    begin(spot) {
      kept = []
      from = spot
    },
    add(changes) {
      for (const one of changes) kept.push(one)
      if (kept.length < MIN_KEPT * 2) return
      from = (kept.at(-MIN_KEPT - 1) as HeardChange).spot
      kept = kept.slice(-MIN_KEPT)
    },
    covers: (spot) => !isBehind(from, spot),
    prepend(earlier, changes) {
      const until = from
      kept = [...changes.filter(({ spot }) => !isBehind(spot, until)), ...kept]
      from = earlier
    },
    since(spot, type) {
      const found = new Map<string, RecentChange>()
      for (const one of kept) {
        if (one.type !== type || !isBehind(one.spot, spot)) continue
        const { id, version } = one
        found.set(id, { id, first: found.get(id)?.first ?? version, last: version })
      }
      return [...found.values()]
    },
    clear() {
      kept = []
      from = { seq: Number.MAX_SAFE_INTEGER, within: 0 }
    },
  }
}

/** The last changes, without their content: what a query that is resumed has missed. */
import type { Change } from './change-source.ts'

const KEPT = 10_000

export interface RecentChange {
  readonly seq: number
  readonly type: string
  readonly id: string
  /** Number of the version before; undefined where there was none, or a deletion. */
  readonly before: number | undefined
  readonly after: number
}

export interface RecentChanges {
  add(changes: readonly Change[]): void
  /**
   * What happened to each resource of a type behind a position: the version before its first change, and the one after
   * its last. Undefined where some changes are not known any more.
   */
  since(seq: number, type: string): readonly RecentChange[] | undefined
  clear(): void
}

export const createRecentChanges = (): RecentChanges => {
  let kept: RecentChange[] = []
  /** Everything behind this position is in the list. */
  let from = 0
  return {
    add(changes) {
      for (const { seq, previous, next } of changes)
        kept.push({ seq, type: next.type, id: next.id, before: previous?.version, after: next.version })
      if (kept.length < KEPT * 2) return
      kept = kept.slice(-KEPT)
      from = (kept[0] as RecentChange).seq - 1
    },
    since(seq, type) {
      if (seq < from) return undefined
      const found = new Map<string, RecentChange>()
      for (const one of kept) {
        if (one.seq <= seq || one.type !== type) continue
        const first = found.get(one.id)
        found.set(one.id, first === undefined ? one : { ...one, before: first.before })
      }
      return [...found.values()]
    },
    clear() {
      kept = []
      from = 0
    },
  }
}

/**
 * Caches targets that exist, so that the next reference to the same patient needs no query. It is exact where this
 * process is the only writer and transactions run one after the other, as on SQLite: a target is cached once the
 * transaction that found it is committed, unless anything was deleted since; and it is removed before its own deletion
 * is committed.
 */
import type { AppliedChange, Target } from '../fhir/service.ts'

const MAX_KNOWN = 20_000 // some megabytes

export interface TargetCache {
  /** `Patient/1` */
  has(key: string): boolean
  /** These targets were found for the changes of an open transaction. */
  found(changes: readonly AppliedChange[], targets: Iterable<Target>): void
  /** An open transaction deletes it. */
  doom(key: string): void
  /** After COMMIT. */
  committed(changes: readonly AppliedChange[]): void
}

export const createKnownTargets = (): TargetCache => {
  const known = new Set<string>()
  // By the first change of a transaction, because `committed` gets the same object.
  const found = new WeakMap<AppliedChange, { readonly keys: readonly string[]; readonly deletions: number }>()
  let deletions = 0
  return {
    has: (key) => known.has(key),
    found(changes, targets) {
      const keys: string[] = []
      for (const { type, id, version } of targets) if (version === undefined) keys.push(`${type}/${id}`)
      const [first] = changes
      if (first !== undefined && keys.length > 0) found.set(first, { keys, deletions })
    },
    doom(key) {
      deletions += 1
      known.delete(key)
    },
    committed(changes) {
      for (const change of changes) {
        const one = found.get(change)
        if (one === undefined || one.deletions !== deletions) continue
        if (known.size >= MAX_KNOWN) known.clear()
        for (const key of one.keys) known.add(key)
      }
    },
  }
}

/** The cache where other processes may delete: every target is looked up each time, and locked until COMMIT. */
export const noTargetCache: TargetCache = {
  has: () => false,
  found: () => undefined,
  doom: () => undefined,
  committed: () => undefined,
}

/**
 * Targets that are there, so that the next reference to the same patient asks nothing. Exact where this process is the
 * one writer and its transactions run one after the other, as on SQLite: a target counts as known once the transaction
 * that found it is committed, unless anything was deleted since, and is forgotten before its own deletion is.
 */
import type { AppliedChange, Target } from '../fhir/service.ts'

const MAX_KNOWN = 20_000 // some megabytes

export interface TargetCache {
  /** `Patient/1` */
  has(key: string): boolean
  /** All of these were found for the changes of a transaction that is open. */
  found(changes: readonly AppliedChange[], targets: Iterable<Target>): void
  /** A transaction that is open deletes it. */
  doom(key: string): void
  /** After COMMIT. */
  committed(changes: readonly AppliedChange[]): void
}

export const createKnownTargets = (): TargetCache => {
  const known = new Set<string>()
  // By the change of a transaction that comes first: what becomes of the transaction is heard of the same object.
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

/** Where others delete too, a target is looked for each time, and held until COMMIT. */
export const noTargetCache: TargetCache = {
  has: () => false,
  found: () => undefined,
  doom: () => undefined,
  committed: () => undefined,
}

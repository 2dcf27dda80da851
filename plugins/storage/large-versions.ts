/**
 * Stored versions that are too large to be processed on the main thread. A change of one is prepared by a worker thread
 * before its transaction.
 */
import type { StoredVersion } from './version.ts'

export interface LargeVersions {
  /** Size in bytes from which a body or version is large. */
  readonly least: number
  /** Whether the version is large; false for a deletion. */
  concernsVersion(version: StoredVersion | undefined): boolean
  /**
   * Notes a resource whose current version turned out to be large inside a transaction. The change fails with Contended, and its
   * retry is prepared by a worker thread.
   */
  note(type: string, id: string): void
  /** Whether the resource was noted. All notes are dropped when there are MAX_NOTED. */
  isNoted(type: string, id: string): boolean
}

const MAX_NOTED = 10_000 // resources

/** `least`: the setting [fhir] large_body_bytes */
export const createLargeVersions = (least: number): LargeVersions => {
  const noted = new Set<string>()
  return {
    least,
    // `weight` estimates the size from the stored bytes, without decompressing them.
    concernsVersion: (version) => version !== undefined && !version.deleted && version.weight >= least,
    note(type, id) {
      if (noted.size >= MAX_NOTED) noted.clear()
      noted.add(`${type}/${id}`)
    },
    isNoted: (type, id) => noted.size > 0 && noted.has(`${type}/${id}`),
  }
}

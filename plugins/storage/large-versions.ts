/** Stored versions that are too large for the main thread: whoever changes one has asked a thread before. */
import type { StoredVersion } from './version.ts'

export interface LargeVersions {
  /** Bytes: what has as many is large. */
  readonly least: number
  /** Is it large? */
  concernsVersion(version: StoredVersion | undefined): boolean
  /** A large version was met inside a transaction: the next attempt knows it before. */
  note(type: string, id: string): void
  /** Was it noted? Of many only the latest are kept. */
  isNoted(type: string, id: string): boolean
}

const MAX_NOTED = 10_000 // resources

/** `least`: [fhir] large_body_bytes */
export const createLargeVersions = (least: number): LargeVersions => {
  const noted = new Set<string>()
  return {
    least,
    // What is packed takes about a quarter.
    concernsVersion: (version) => version !== undefined && !version.deleted && version.weight >= least,
    note(type, id) {
      if (noted.size >= MAX_NOTED) noted.clear()
      noted.add(`${type}/${id}`)
    },
    isNoted: (type, id) => noted.size > 0 && noted.has(`${type}/${id}`),
  }
}

/** Stored versions that are too large for the main thread: whoever changes one has asked a thread before. */
import type { StoredVersion } from './version.ts'

export interface LargeVersions {
  /** Is it large? */
  concernsVersion(version: StoredVersion | undefined): boolean
  /** A large version was met inside a transaction: the next attempt knows it before. */
  note(type: string, id: string): void
}

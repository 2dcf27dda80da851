/** Wraps stored versions for plugins. */
import type { StoredVersion } from '../../storage/service.ts'
import { PackedVersion } from './packed-version.ts'
import type { CurrentResource, PastVersion, Streamed } from './session.ts'

class HeldVersion extends PackedVersion implements CurrentResource {
  parse(): Record<string, unknown> {
    return JSON.parse(this.json) as Record<string, unknown>
  }
}

class StreamedVersion extends HeldVersion implements Streamed {
  readonly key: string

  constructor(version: StoredVersion, key: string) {
    super(version)
    this.key = key
  }
}

export const toHeld = (version: StoredVersion): CurrentResource => new HeldVersion(version)

export const toStreamed = (version: StoredVersion, key: string): Streamed => new StreamedVersion(version, key)

export const toPast = (version: StoredVersion): PastVersion => ({
  type: version.type,
  id: version.id,
  version: version.version,
  lastUpdated: version.lastUpdated,
  method: version.method,
  key: String(version.versionTime),
  get json() {
    return version.deleted ? undefined : version.text
  },
})

/** Wraps stored versions for plugins. */
import type { StoredVersion } from '../../storage/service.ts'
import type { CurrentResource, PackedBody, PastVersion, Streamed } from './session.ts'

class HeldVersion implements CurrentResource {
  readonly #version: StoredVersion
  readonly type: string
  readonly id: string
  readonly version: number
  readonly lastUpdated: number

  constructor(version: StoredVersion) {
    this.#version = version
    this.type = version.type
    this.id = version.id
    this.version = version.version
    this.lastUpdated = version.lastUpdated
  }

  get json(): string {
    return this.#version.text
  }

  get packed(): PackedBody {
    return this.#version
  }

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

class HeldPast implements PastVersion {
  readonly #version: StoredVersion
  readonly type: string
  readonly id: string
  readonly version: number
  readonly lastUpdated: number
  readonly method: PastVersion['method']
  readonly key: string

  constructor(version: StoredVersion) {
    this.#version = version
    this.type = version.type
    this.id = version.id
    this.version = version.version
    this.lastUpdated = version.lastUpdated
    this.method = version.method
    this.key = String(version.versionTime)
  }

  get json(): string | undefined {
    return this.#version.deleted ? undefined : this.#version.text
  }
}

export const toPast = (version: StoredVersion): PastVersion => new HeldPast(version)

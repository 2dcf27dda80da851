/** Makes the object that shows write checks what a caller with limited access may know. */
import type { Findings } from './findings.ts'
import type { StoredVersion } from './version.ts'
import type { RestrictedChange } from './write-check.ts'
import type { WriteGuard } from './write-guard.ts'

class ShownChange implements RestrictedChange {
  readonly #guard: WriteGuard
  readonly #previous: StoredVersion | undefined
  readonly referred: RestrictedChange['referred']

  constructor(guard: WriteGuard, previous: StoredVersion | undefined, findings: Findings | undefined) {
    this.#guard = guard
    this.#previous = previous
    this.referred = findings?.before?.references
  }

  get previous(): Readonly<Record<string, unknown>> | undefined {
    if (this.#previous === undefined || this.#previous.deleted) return undefined
    return JSON.parse(this.#previous.text) as Record<string, unknown>
  }

  names({ type, id }: Parameters<RestrictedChange['names']>[0]): boolean {
    return this.#guard.names(type, id)
  }

  sees(found: StoredVersion): boolean {
    return this.#guard.sees(found)
  }
}

export const toRestrictedChange = (
  guard: WriteGuard,
  previous: StoredVersion | undefined,
  findings: Findings | undefined,
): RestrictedChange => new ShownChange(guard, previous, findings)

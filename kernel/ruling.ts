/**
 * The access decision of one interaction, made by the taps of `authorize`. Taps can refuse or narrow; nothing can
 * widen.
 */
import { checkRestriction } from './check-restriction.ts'
import { type Extent, extentOf, openRightsOf, type Restriction, RIGHTS, type Right } from './restriction.ts'
import type { ServerError } from './server-error.ts'

/** All restrictions of a ruling apply together: what any one of them does not grant is not granted. */
export class Ruling {
  readonly #restrictions: Restriction[] = []

  /** As they were added; `restrict` is the only way to add one. */
  get restrictions(): readonly Restriction[] {
    return this.#restrictions
  }

  /** Ends the interaction: the error is thrown, and the first refusal wins. */
  refuse(error: ServerError): never {
    throw error
  }

  /** Throws 500 for a value that is not a Restriction: a malformed one must not be read as an open one. */
  restrict(restriction: Restriction): void {
    checkRestriction(restriction)
    this.#restrictions.push(restriction)
  }

  /** What is known of a right on a type without looking at data. */
  extent(type: string, right: Right): Extent {
    let extent: Extent = 'all'
    for (const restriction of this.#restrictions) {
      const own = extentOf(restriction, type, right)
      if (own === 'none') return 'none'
      if (own === 'some') extent = 'some'
    }
    return extent
  }

  /** True when these rights (all rights, when left out) hold on every resource of every type. */
  covers(rights: readonly Right[] = RIGHTS): boolean {
    for (const restriction of this.#restrictions) {
      const open = openRightsOf(restriction)
      for (const right of rights) if (!open.includes(right)) return false
    }
    return true
  }

  /** Headers of the restrictions for which `causes` holds: they go with the 403 that these cause. */
  headersWhere(causes: (restriction: Restriction) => boolean): Readonly<Record<string, string>> {
    return Object.assign({}, ...this.restrictions.filter(causes).map(({ headers }) => headers))
  }
}

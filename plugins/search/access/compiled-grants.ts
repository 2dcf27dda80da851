/**
 * Restrictions compiled to tests of single versions, cached by restriction, type and right, together with the results for
 * versions in memory: a version never changes. Tests only. Statements name the systems that a code has been used with, so
 * a cached `:not` would show what is stored under another system later.
 */
import { grantsOf, type OwnUrl, type Restriction, type Right } from '../../../kernel/index.ts'
import type { MaybePromise } from '../../database/service.ts'
import type { StoredVersion } from '../../storage/service.ts'
import type { Registry } from '../index/registry.ts'
import type { ClauseSubject, SearchClause } from '../query/clause.ts'
import type { Criteria } from '../query/criteria.ts'
import { restrictionClauses } from './access-filter.ts'

export interface CompiledGrants {
  /** Undefined where only the index can tell, by `conditions`. */
  readonly test: ((subject: ClauseSubject) => boolean) | undefined
  /** Where `test` is undefined: true when a grant that can be tested holds; false leaves it to the index. */
  readonly certain: ((subject: ClauseSubject) => boolean) | undefined
  /** What `test` or `certain` said of a version. */
  readonly results: WeakMap<StoredVersion, boolean>
  readonly conditions: readonly SearchClause[]
}

interface Cached {
  readonly state: Registry['state']
  readonly ownUrl: OwnUrl | undefined
  readonly byKey: Map<string, CompiledGrants>
}

const NO_CONDITIONS: readonly SearchClause[] = Object.freeze([])

// A value whose meaning changes with time (ap), and modifiers that expand a value set, are compiled each time.
const CHANGES_WITH_TIME = /(^|[,$])ap/
const IS_PLAIN = /^(?!_has|_list|_filter|_text|_content)[A-Za-z0-9_-]+(:(?!(not-)?in$|above$|below$)[A-Za-z-]+)?$/

const isLasting = (restriction: Restriction, type: string, right: Right): boolean =>
  grantsOf(restriction, type)
    .filter(({ rights }) => rights.includes(right))
    .every(({ query = '' }) =>
      [...new URLSearchParams(query)].every(([name, value]) => IS_PLAIN.test(name) && !CHANGES_WITH_TIME.test(value)),
    )

/** Of no conditions at all the right holds on everything; undefined: on nothing. */
export const compileGrants = (conditions: readonly SearchClause[] | undefined): CompiledGrants => {
  const results = new WeakMap<StoredVersion, boolean>()
  if (conditions === undefined) return { test: () => false, certain: undefined, results, conditions: NO_CONDITIONS }
  const tests = conditions.map(({ matches }) => matches)
  if (!tests.every((test) => test !== undefined)) {
    const deciding = conditions.map(({ matches, certain = matches }) => certain)
    const certain = deciding.every((decides) => decides !== undefined)
      ? (subject: ClauseSubject): boolean => deciding.every((decides) => decides(subject))
      : undefined
    return { test: undefined, certain, results, conditions }
  }
  return {
    test: (subject) => tests.every((test) => test(subject)),
    certain: undefined,
    results,
    conditions: NO_CONDITIONS,
  }
}

/** The restrictions of a ruling, in their order, compiled for a right on a type. */
export type CompileRight = (type: string, right: Right) => MaybePromise<readonly CompiledGrants[]>

export interface GrantCompiler {
  /** In memory, or undefined. */
  cached(restriction: Restriction, type: string, right: Right, ownUrl: OwnUrl | undefined): CompiledGrants | undefined
  /** `criteria` may be those of a transaction. */
  compile(
    restriction: Restriction,
    type: string,
    right: Right,
    criteria: Criteria,
    asking: { readonly ownUrl: OwnUrl | undefined; readonly now: number },
  ): Promise<CompiledGrants>
}

export const createGrantCompiler = (registry: Pick<Registry, 'state'>): GrantCompiler => {
  const known = new WeakMap<Restriction, Cached>()
  const cacheOf = (restriction: Restriction, ownUrl: OwnUrl | undefined): Cached => {
    const found = known.get(restriction)
    if (found !== undefined && found.state === registry.state && found.ownUrl === ownUrl) return found
    const made: Cached = { state: registry.state, ownUrl, byKey: new Map() }
    known.set(restriction, made)
    return made
  }
  return {
    cached: (restriction, type, right, ownUrl) => cacheOf(restriction, ownUrl).byKey.get(right + type),
    async compile(restriction, type, right, criteria, { ownUrl, now }) {
      // Taken first: what parameters mean may change while this waits.
      const { byKey } = cacheOf(restriction, ownUrl)
      const asking = { ownUrl, now, snapshotKey: Number.MAX_SAFE_INTEGER }
      const compiled = compileGrants(await restrictionClauses(restriction, type, right, criteria, asking))
      if (compiled.test !== undefined && isLasting(restriction, type, right)) byKey.set(right + type, compiled)
      return compiled
    },
  }
}

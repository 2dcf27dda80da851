/**
 * Restrictions compiled to tests of single versions. They are cached by restriction, type and right, with the results
 * for versions in memory, which never change. Only tests are cached: SQL names the systems that a code had at that
 * time, so a cached `:not` would show resources that were stored with another system later.
 */
import { grantsOf, type OwnUrl, type Restriction, type Right } from '../../../kernel/index.ts'
import type { MaybePromise } from '../../database/service.ts'
import type { StoredVersion } from '../../storage/service.ts'
import type { Registry } from '../index/registry.ts'
import type { ClauseSubject, SearchClause } from '../query/clause.ts'
import type { Criteria } from '../query/criteria.ts'
import { restrictionClauses } from './access-filter.ts'

export interface CompiledGrants {
  /** Tests a version in memory. Undefined when the index has to be searched with `conditions`. */
  readonly test: ((subject: ClauseSubject) => boolean) | undefined
  /**
   * Only where `test` is undefined: true when a grant that can be tested in memory applies; false leaves it to the
   * index.
   */
  readonly certain: ((subject: ClauseSubject) => boolean) | undefined
  /** Results of `test` or `certain` by version. */
  readonly results: WeakMap<StoredVersion, boolean>
  readonly conditions: readonly SearchClause[]
}

interface Cached {
  readonly state: Registry['state']
  readonly ownUrl: OwnUrl | undefined
  readonly byKey: Map<string, CompiledGrants>
}

const NO_CONDITIONS: readonly SearchClause[] = Object.freeze([])

// Restrictions with `ap`, whose result changes with time, or with modifiers that expand a ValueSet are not cached.
const CHANGES_WITH_TIME = /(^|[,$])ap/
const IS_PLAIN = /^(?!_has|_list|_filter|_text|_content)[A-Za-z0-9_-]+(:(?!(not-)?in$|above$|below$)[A-Za-z-]+)?$/

const isLasting = (restriction: Restriction, type: string, right: Right): boolean =>
  grantsOf(restriction, type)
    .filter(({ rights }) => rights.includes(right))
    .every(({ query = '' }) =>
      [...new URLSearchParams(query)].every(([name, value]) => IS_PLAIN.test(name) && !CHANGES_WITH_TIME.test(value)),
    )

/** Compiles conditions. With an empty list the right applies to every version, with undefined to none. */
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

/** Compiles the restrictions of a ruling, in their order, for a right on a type. */
export type CompileRight = (type: string, right: Right) => MaybePromise<readonly CompiledGrants[]>

export interface GrantCompiler {
  /** Returns what is in the cache, or undefined. */
  cached(restriction: Restriction, type: string, right: Right, ownUrl: OwnUrl | undefined): CompiledGrants | undefined
  /** `criteria`: may belong to a transaction. */
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
      // The cache is chosen before `await`: the definitions of search parameters may change meanwhile, and the result
      // was compiled from the previous ones.
      const { byKey } = cacheOf(restriction, ownUrl)
      const asking = { ownUrl, now, snapshotKey: Number.MAX_SAFE_INTEGER }
      const compiled = compileGrants(await restrictionClauses(restriction, type, right, criteria, asking))
      if (compiled.test !== undefined && isLasting(restriction, type, right)) byKey.set(right + type, compiled)
      return compiled
    },
  }
}

/**
 * Makes matchers from clauses, with the same checks in memory as for rulings. A query that needs the index has no
 * matcher.
 */
import { grantsOf, type Ruling } from '../../../kernel/index.ts'
import { indexedOf } from '../index/indexed-json.ts'
import type { Registry } from '../index/registry.ts'
import type { ClauseSubject, SearchClause } from '../query/clause.ts'
import { keysOf, mostSelective, toNumber } from '../query/match-key.ts'
import type { Matcher, MatchSubject } from '../query/matcher.ts'

class Tested implements MatchSubject {
  readonly type: string
  readonly id: string
  readonly inner: ClauseSubject
  readonly #hash: (id: string) => number
  #keys: readonly number[] | undefined

  constructor(inner: ClauseSubject, hash: (id: string) => number) {
    this.type = inner.type
    this.id = inner.id
    this.inner = inner
    this.#hash = hash
  }

  get keys(): readonly number[] {
    this.#keys ??= keysOf(this.#hash(this.id), this.inner.rows)
    return this.#keys
  }
}

export interface SubjectVersion {
  readonly type: string
  readonly id: string
  /** Milliseconds since the epoch. */
  readonly lastUpdated: number
  /** The JSON that `resource` was parsed from, with all digits of long numbers. */
  readonly json?: string | undefined
}

export const toSubject = (
  registry: Pick<Registry, 'extract' | 'hasher' | 'written' | 'source'>,
  { type, id, lastUpdated, json }: SubjectVersion,
  resource: object,
): MatchSubject => {
  const content = resource as Record<string, unknown>
  const rows =
    registry.written.of(resource, registry.source) ??
    registry.extract(json === undefined ? content : indexedOf(content, json))
  return new Tested({ type, id, versionTime: lastUpdated * 1000, rows }, registry.hasher.long)
}

type Pairs = readonly (readonly [string, string])[]

const APPROXIMATELY = /(^|[,$])ap/
const IN_A_FILTER = /\sap\s/

/** True when the result of a query changes with time, without any write: `ap` compares a date with now. */
const changesWithTime = (registry: Pick<Registry, 'parameters'>, type: string, pairs: Pairs): boolean =>
  pairs.some(([name, value]) => {
    const code = name.split(':')[0] as string
    if (code === '_filter') return IN_A_FILTER.test(value)
    const kind = code === '_lastUpdated' ? 'date' : registry.parameters(type).get(code)?.type
    return (kind === 'date' || kind === 'composite') && APPROXIMATELY.test(value)
  })

const grantedPairs = ({ restrictions }: Ruling, type: string): Pairs =>
  restrictions.flatMap((one) => grantsOf(one, type)).flatMap(({ query = '' }) => [...new URLSearchParams(query)])

type Test = NonNullable<SearchClause['matches']>

const testsOf = (conditions: readonly SearchClause[]): readonly Test[] | undefined => {
  const tests = conditions.map(({ matches }) => matches)
  return tests.every((test) => test !== undefined) ? tests : undefined
}

/** A class, because matchers are stored by the thousand and a closure retains all of its scope. */
class CompiledMatcher implements Matcher {
  readonly type: string
  readonly keys: readonly number[] | undefined
  readonly restrictions: Matcher['restrictions']
  readonly meaning: Matcher['meaning']
  readonly #tests: readonly Test[]

  constructor({ type, keys, restrictions, meaning }: Omit<Matcher, 'test'>, tests: readonly Test[]) {
    this.type = type
    this.keys = keys
    this.restrictions = restrictions
    this.meaning = meaning
    this.#tests = tests
  }

  test(one: MatchSubject): boolean {
    if (one.type !== this.type || !(one instanceof Tested)) return false
    for (const test of this.#tests) if (!test(one.inner)) return false
    return true
  }
}

export interface CompiledQuery {
  readonly type: string
  /** The query parameters. */
  readonly pairs: Pairs
  readonly ruling: Ruling
  /** State of the registry before the clauses were made. */
  readonly state: Registry['state']
  /** The clauses of the parameters and the ruling. */
  readonly conditions: readonly SearchClause[]
  /** Undefined where the clauses have no codes of ValueSets. False when these have changed since. */
  readonly areCurrent: (() => boolean) | undefined
}

const meaningOf = (
  registry: Pick<Registry, 'state' | 'meanings'>,
  { state, areCurrent }: Pick<CompiledQuery, 'state' | 'areCurrent'>,
): Matcher['meaning'] => {
  const known = areCurrent === undefined ? registry.meanings.get(state) : undefined
  if (known !== undefined) return known
  const made = {
    get isCurrent() {
      return registry.state === state && areCurrent?.() !== false
    },
  }
  if (areCurrent === undefined) registry.meanings.set(state, made)
  return made
}

/** Null when the check needs more than the resource itself. */
export const toMatcher = (
  registry: Pick<Registry, 'state' | 'parameters' | 'meanings'>,
  { type, pairs, ruling, state, conditions, areCurrent }: CompiledQuery,
): Matcher | null => {
  const tests = testsOf(conditions)
  if (tests === undefined || changesWithTime(registry, type, [...pairs, ...grantedPairs(ruling, type)])) return null
  const parts = conditions.flatMap((one) => one.all ?? [one])
  const keys = mostSelective(parts.flatMap((one) => (one.keys === undefined ? [] : [one.keys])))
  return new CompiledMatcher(
    {
      type,
      keys: keys === undefined ? undefined : [...new Set(keys.map(toNumber))],
      restrictions: ruling.restrictions,
      meaning: meaningOf(registry, { state, areCurrent }),
    },
    tests,
  )
}

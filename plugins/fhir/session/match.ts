/** Matchers from conditions: their tests are those that decide about rulings; what takes the index to tell has none. */
import { grantsOf, type Ruling } from '../../../kernel/index.ts'
import { indexedOf } from '../../search/index/indexed-json.ts'
import type { Condition, Subject } from '../../search/query/clause.ts'
import { keysOf, mostTelling, toNumber } from '../../search/query/match-key.ts'
import type { Matching } from '../interactions/conditional.ts'
import type { FhirServer } from '../parts.ts'
import type { Matcher, MatchSubject } from './matcher.ts'
import type { Held } from './session.ts'

class Tested implements MatchSubject {
  readonly type: string
  readonly id: string
  readonly inner: Subject
  readonly #hash: (id: string) => number
  #keys: readonly number[] | undefined

  constructor(inner: Subject, hash: (id: string) => number) {
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

export const toSubject = (
  { search: { registry } }: FhirServer,
  { type, id, lastUpdated, json }: Pick<Held, 'type' | 'id' | 'lastUpdated'> & { readonly json?: string | undefined },
  resource: object,
): MatchSubject => {
  const content = resource as Record<string, unknown>
  const rows = registry.extract(json === undefined ? content : indexedOf(content, json))
  return new Tested({ type, id, stamp: lastUpdated * 1000, rows }, registry.hasher.long)
}

type Pairs = readonly (readonly [string, string])[]

const APPROXIMATELY = /(^|[,$])ap/
const OF_A_FILTER = /(^|[\s(])ap\s/

/** Does its meaning change while nothing is written? "About now" does. */
const changesWithTime = ({ search: { registry } }: FhirServer, type: string, pairs: Pairs): boolean =>
  pairs.some(([name, value]) => {
    const code = name.split(':')[0] as string
    if (code === '_filter') return /\sap\s/.test(value) || OF_A_FILTER.test(value)
    const kind = code === '_lastUpdated' ? 'date' : registry.parameters(type).get(code)?.type
    return (kind === 'date' || kind === 'composite') && APPROXIMATELY.test(value)
  })

const grantedPairs = ({ restrictions }: Ruling, type: string): Pairs =>
  restrictions.flatMap((one) => grantsOf(one, type)).flatMap(({ query = '' }) => [...new URLSearchParams(query)])

type Test = (subject: Subject) => boolean

const testsOf = (conditions: readonly Condition[]): readonly Test[] | undefined => {
  const tests = conditions.flatMap(({ test }) => test ?? [])
  return tests.length === conditions.length ? tests : undefined
}

/** `state` is that of the registry before the conditions were made. Null where it takes more than the resource. */
export const toMatcher = (
  server: FhirServer,
  type: string,
  pairs: Pairs,
  ruling: Ruling,
  state: FhirServer['search']['registry']['state'],
  { conditions, areCurrent }: Matching,
): Matcher | null => {
  const tests = testsOf(conditions)
  if (tests === undefined || changesWithTime(server, type, [...pairs, ...grantedPairs(ruling, type)])) return null
  const { registry } = server.search
  const parts = conditions.flatMap((one) => one.all ?? [one])
  const keys = mostTelling(parts.flatMap((one) => (one.keys === undefined ? [] : [one.keys])))
  return {
    type,
    keys: keys === undefined ? undefined : [...new Set(keys.map(toNumber))],
    test: (one) => one.type === type && one instanceof Tested && tests.every((test) => test(one.inner)),
    get isCurrent() {
      return registry.state === state && areCurrent()
    },
  }
}

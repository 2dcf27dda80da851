/** Codes by code system, and what a value set makes of them: filters on the hierarchy, unions, intersections, exclusions. */

/** Codes by the URL of their code system. */
export type Codes = ReadonlyMap<string, SystemCodes>

export interface SystemCodes {
  readonly codes: ReadonlySet<string>
  /** True if the code system is not case-sensitive; `codes` then has them in lower case. */
  readonly folded: boolean
}

export interface BoundCodes {
  has(code: string, system?: string): boolean
  readonly size: number
}

/** Maximum number of codes of a code system; a larger one counts as not enumerable, to save memory. */
const MAX_CODES = 50_000

/** Thrown if the value set cannot be enumerated from the installed packages. */
export class NotEnumerable extends Error {}

interface Concept {
  readonly code: string
  readonly concept?: readonly Concept[]
}

interface Filter {
  readonly property: string
  readonly op: string
  readonly value: string
}

const HIERARCHY = /(?:^|#)(?:parent|child|subsumedBy|partOf)$/

const collect = (concepts: readonly Concept[] | undefined, into: Set<string>): void => {
  for (const { code, concept } of concepts ?? []) {
    into.add(code)
    if (into.size > MAX_CODES) throw new NotEnumerable('too many codes')
    collect(concept, into)
  }
}

/** The codes that pass a filter on the hierarchy. */
const filtered = (concepts: readonly Concept[], { property, op, value }: Filter): Set<string> => {
  if (property !== 'concept' && property !== 'code') throw new NotEnumerable(`the filter ${property}`)
  const all = new Set<string>()
  collect(concepts, all)
  const below = new Set<string>()
  const visit = (list: readonly Concept[]): void => {
    for (const one of list) {
      if (one.code === value) collect(one.concept, below)
      else visit(one.concept ?? [])
    }
  }
  visit(concepts)
  switch (op) {
    case 'is-a':
      return all.has(value) ? below.add(value) : below
    case 'descendent-of':
      return below
    case 'is-not-a':
      return new Set([...all].filter((code) => code !== value && !below.has(code)))
    case '=':
      return new Set(all.has(value) ? [value] : [])
    case 'in':
      return new Set(value.split(',').filter((code) => all.has(code)))
    default:
      throw new NotEnumerable(`the filter ${op}`)
  }
}

const folded = (codes: ReadonlySet<string>): ReadonlySet<string> =>
  new Set([...codes].map((code) => code.toLowerCase()))

/** The codes of a complete code system that pass all filters. */
export const completeCodes = (codeSystem: Record<string, any>, filters: readonly Filter[] | undefined): SystemCodes => {
  let codes = new Set<string>()
  collect(codeSystem.concept, codes)
  for (const one of filters ?? []) {
    const left = filtered(codeSystem.concept ?? [], one)
    codes = new Set([...codes].filter((code) => left.has(code)))
  }
  return codeSystem.caseSensitive === false ? { codes: folded(codes), folded: true } : { codes, folded: false }
}

/** Whether a concept may have parents besides the one that contains it. */
export const hasSecondParents = ({ property }: Record<string, any>): boolean =>
  property?.some(
    ({ code, uri = '' }: { code: string; uri?: string }) => HIERARCHY.test(code) || HIERARCHY.test(uri),
  ) === true

export const merge = (into: Map<string, SystemCodes>, from: Codes): void => {
  for (const [system, one] of from) {
    const before = into.get(system)
    if (before === undefined) into.set(system, one)
    else {
      const fold = before.folded || one.folded
      const codes = new Set([...before.codes, ...one.codes])
      into.set(system, { codes: fold ? folded(codes) : codes, folded: fold })
    }
  }
}

export const common = (a: Codes, b: Codes): Codes => {
  const both = new Map<string, SystemCodes>()
  for (const [system, { codes, folded: fold }] of a) {
    const other = b.get(system)
    if (other === undefined) continue
    if (other.folded !== fold) throw new NotEnumerable('two views of case')
    both.set(system, { codes: new Set([...codes].filter((code) => other.codes.has(code))), folded: fold })
  }
  return both
}

/** Takes codes away. */
export const remove = (from: Map<string, SystemCodes>, excluded: Codes): void => {
  for (const [system, { codes: gone, folded: fold }] of excluded) {
    const before = from.get(system)
    if (before === undefined) continue
    if (before.folded !== fold) throw new NotEnumerable('two views of case')
    from.set(system, { codes: new Set([...before.codes].filter((code) => !gone.has(code))), folded: fold })
  }
}

const expanded = (contains: readonly any[] | undefined, into: Map<string, Set<string>>): void => {
  for (const { system, code, abstract, contains: inner } of contains ?? []) {
    if (system !== undefined && code !== undefined && abstract !== true) {
      into.set(system, (into.get(system) ?? new Set()).add(code))
    }
    expanded(inner, into)
  }
}

/** The codes that the expansion in a value set lists. */
export const listedCodes = (contains: readonly any[]): Codes => {
  const lists = new Map<string, Set<string>>()
  expanded(contains, lists)
  return new Map([...lists].map(([system, codes]) => [system, { codes, folded: false }]))
}

export const toBoundCodes = (codes: Codes): BoundCodes => {
  const all = [...codes.values()]
  const [only] = all
  const isIn = ({ codes: set, folded: fold }: SystemCodes, code: string): boolean =>
    set.has(fold ? code.toLowerCase() : code)
  return {
    size: all.reduce((sum, one) => sum + one.codes.size, 0),
    has(code, system) {
      if (system !== undefined) {
        const own = codes.get(system)
        return own !== undefined && isIn(own, code)
      }
      return all.length === 1 ? isIn(only!, code) : all.some((one) => isIn(one, code))
    },
  }
}

/**
 * Enumerates the codes of value sets: listed codes, whole code systems, filters on the hierarchy, other value sets, and
 * exclusions. A value set that cannot be enumerated from the installed packages is not checked, so it refuses no write.
 * https://hl7.org/fhir/R4/valueset.html#compositions
 */

/** `undefined`: not installed. `null`: not loaded yet. */
export type FindDefinition = (type: string, canonical: string) => Record<string, any> | null | undefined

/** Codes by the URL of their code system. */
export type Codes = ReadonlyMap<string, SystemCodes>

interface SystemCodes {
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
/** Maximum nesting of value sets that include value sets. */
const MAX_LEVELS = 20

/** Thrown if the value set cannot be enumerated from the installed packages. */
class Unknown extends Error {}
/** Thrown if a definition is not loaded yet. */
class NotYet extends Error {}

interface Concept {
  readonly code: string
  readonly concept?: readonly Concept[]
}

interface Include {
  readonly system?: string
  readonly version?: string
  readonly concept?: readonly { readonly code: string }[]
  readonly filter?: readonly { readonly property: string; readonly op: string; readonly value: string }[]
  readonly valueSet?: readonly string[]
}

const HIERARCHY = /(?:^|#)(?:parent|child|subsumedBy|partOf)$/

const withVersion = (canonical: string, version: string | undefined): string =>
  version === undefined || canonical.includes('|') ? canonical : `${canonical}|${version}`

export const createValueSets = (find: FindDefinition): ((canonical: string) => BoundCodes | null | undefined) => {
  const known = new Map<string, BoundCodes | undefined>()
  /** Value sets that were expanded on the way to the requested one, so that one that many others include is expanded once. */
  const parts = new Map<string, Codes>()

  /** The definition in the version of the canonical URL; if that is not installed, in the installed version. */
  const definition = (type: string, canonical: string): Record<string, any> => {
    let found = find(type, canonical)
    const bar = canonical.indexOf('|')
    if (found === undefined && bar > 0) found = find(type, canonical.slice(0, bar))
    if (found === null) throw new NotYet()
    if (found === undefined) throw new Unknown(canonical)
    return found
  }

  const collect = (concepts: readonly Concept[] | undefined, into: Set<string>): void => {
    for (const { code, concept } of concepts ?? []) {
      into.add(code)
      if (into.size > MAX_CODES) throw new Unknown('too many codes')
      collect(concept, into)
    }
  }

  /** The codes that pass a filter on the hierarchy. */
  const filtered = (
    concepts: readonly Concept[],
    { property, op, value }: { readonly property: string; readonly op: string; readonly value: string },
  ): Set<string> => {
    if (property !== 'concept' && property !== 'code') throw new Unknown(`the filter ${property}`)
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
        throw new Unknown(`the filter ${op}`)
    }
  }

  const folded = (codes: ReadonlySet<string>): ReadonlySet<string> =>
    new Set([...codes].map((code) => code.toLowerCase()))

  const systemCodes = ({ system, version, concept, filter }: Include & { system: string }): SystemCodes => {
    if (concept !== undefined && filter === undefined) {
      return { codes: new Set(concept.map(({ code }) => code)), folded: false }
    }
    const codeSystem = definition('CodeSystem', withVersion(system, version))
    // A property such as `parent` can give a concept a second parent, which the nesting of concepts does not show: a filter
    // would miss codes.
    if (codeSystem.content !== 'complete' || (filter !== undefined && hasSecondParents(codeSystem))) {
      throw new Unknown(system)
    }
    let codes = new Set<string>()
    collect(codeSystem.concept, codes)
    for (const one of filter ?? []) {
      const left = filtered(codeSystem.concept ?? [], one)
      codes = new Set([...codes].filter((code) => left.has(code)))
    }
    return codeSystem.caseSensitive === false ? { codes: folded(codes), folded: true } : { codes, folded: false }
  }

  const hasSecondParents = ({ property }: Record<string, any>): boolean =>
    property?.some(
      ({ code, uri = '' }: { code: string; uri?: string }) => HIERARCHY.test(code) || HIERARCHY.test(uri),
    ) === true

  const merge = (into: Map<string, SystemCodes>, from: Codes): void => {
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

  const common = (a: Codes, b: Codes): Codes => {
    const both = new Map<string, SystemCodes>()
    for (const [system, { codes, folded: fold }] of a) {
      const other = b.get(system)
      if (other === undefined) continue
      if (other.folded !== fold) throw new Unknown('two views of case')
      both.set(system, { codes: new Set([...codes].filter((code) => other.codes.has(code))), folded: fold })
    }
    return both
  }

  const included = (include: Include, above: readonly string[]): Codes => {
    let codes: Codes | undefined
    if (include.system !== undefined) {
      codes = new Map([[include.system, systemCodes({ ...include, system: include.system })]])
    }
    for (const valueSet of include.valueSet ?? []) {
      const one = expand(valueSet, above)
      codes = codes === undefined ? one : common(codes, one)
    }
    if (codes === undefined) throw new Unknown('an include of nothing')
    return codes
  }

  const expanded = (contains: readonly any[] | undefined, into: Map<string, Set<string>>): void => {
    for (const { system, code, abstract, contains: inner } of contains ?? []) {
      if (system !== undefined && code !== undefined && abstract !== true) {
        into.set(system, (into.get(system) ?? new Set()).add(code))
      }
      expanded(inner, into)
    }
  }

  const expand = (canonical: string, above: readonly string[]): Codes => {
    const url = canonical.replace(/\|.*$/, '')
    if (above.includes(url) || above.length > MAX_LEVELS) throw new Unknown('a circle of value sets')
    const done = parts.get(canonical)
    if (done !== undefined) return done
    const codes = composed(canonical, [...above, url])
    parts.set(canonical, codes)
    return codes
  }

  const composed = (canonical: string, inside: readonly string[]): Codes => {
    const valueSet = definition('ValueSet', canonical)
    const codes = new Map<string, SystemCodes>()
    if (valueSet.compose === undefined) {
      const lists = new Map<string, Set<string>>()
      // An expansion with an offset is one page, so it lacks codes.
      if (valueSet.expansion?.contains === undefined || valueSet.expansion.offset !== undefined)
        throw new Unknown(canonical)
      expanded(valueSet.expansion.contains, lists)
      for (const [system, list] of lists) codes.set(system, { codes: list, folded: false })
      return codes
    }
    for (const include of valueSet.compose.include ?? []) merge(codes, included(include, inside))
    for (const exclude of valueSet.compose.exclude ?? []) {
      for (const [system, { codes: gone, folded: fold }] of included(exclude, inside)) {
        const before = codes.get(system)
        if (before === undefined) continue
        if (before.folded !== fold) throw new Unknown('two views of case')
        codes.set(system, { codes: new Set([...before.codes].filter((code) => !gone.has(code))), folded: fold })
      }
    }
    return codes
  }

  const toKnown = (codes: Codes): BoundCodes => {
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

  /** `undefined`: cannot be enumerated from the installed packages. `null`: a definition is not loaded yet. */
  return (canonical) => {
    if (known.has(canonical)) return known.get(canonical)
    let result: BoundCodes | undefined
    try {
      const codes = toKnown(expand(canonical, []))
      result = codes.size === 0 ? undefined : codes
    } catch (error) {
      if (error instanceof NotYet) return null
      if (!(error instanceof Unknown)) throw error
    } finally {
      parts.clear()
    }
    known.set(canonical, result)
    return result
  }
}

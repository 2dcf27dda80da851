/**
 * Enumerates the codes of value sets: listed codes, whole code systems, filters on the hierarchy, other value sets, and
 * exclusions. A value set that cannot be enumerated from the installed packages is not checked, so it refuses no write.
 * https://hl7.org/fhir/R4/valueset.html#compositions
 */

import {
  type BoundCodes,
  type Codes,
  common,
  completeCodes,
  hasSecondParents,
  listedCodes,
  merge,
  NotEnumerable,
  remove,
  type SystemCodes,
  toBoundCodes,
} from './system-codes.ts'

/** `undefined`: not installed. `null`: not loaded yet. */
export type FindDefinition = (type: string, canonical: string) => Record<string, any> | null | undefined

/** Maximum nesting of value sets that include value sets. */
const MAX_LEVELS = 20

/** Thrown if a definition is not loaded yet. */
class NotYet extends Error {}

interface Include {
  readonly system?: string
  readonly version?: string
  readonly concept?: readonly { readonly code: string }[]
  readonly filter?: readonly { readonly property: string; readonly op: string; readonly value: string }[]
  readonly valueSet?: readonly string[]
}

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
    if (found === undefined) throw new NotEnumerable(canonical)
    return found
  }

  const systemCodes = ({ system, version, concept, filter }: Include & { system: string }): SystemCodes => {
    if (concept !== undefined && filter === undefined) {
      return { codes: new Set(concept.map(({ code }) => code)), folded: false }
    }
    const codeSystem = definition('CodeSystem', withVersion(system, version))
    // A property such as `parent` can give a concept a second parent, which the nesting of concepts does not show: a filter
    // would miss codes.
    if (codeSystem.content !== 'complete' || (filter !== undefined && hasSecondParents(codeSystem))) {
      throw new NotEnumerable(system)
    }
    return completeCodes(codeSystem, filter)
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
    if (codes === undefined) throw new NotEnumerable('an include of nothing')
    return codes
  }

  const expand = (canonical: string, above: readonly string[]): Codes => {
    const url = canonical.replace(/\|.*$/, '')
    if (above.includes(url) || above.length > MAX_LEVELS) throw new NotEnumerable('a circle of value sets')
    const done = parts.get(canonical)
    if (done !== undefined) return done
    const codes = composed(canonical, [...above, url])
    parts.set(canonical, codes)
    return codes
  }

  const composed = (canonical: string, inside: readonly string[]): Codes => {
    const valueSet = definition('ValueSet', canonical)
    if (valueSet.compose === undefined) {
      // An expansion with an offset is one page, so it lacks codes.
      if (valueSet.expansion?.contains === undefined || valueSet.expansion.offset !== undefined)
        throw new NotEnumerable(canonical)
      return listedCodes(valueSet.expansion.contains)
    }
    const codes = new Map<string, SystemCodes>()
    for (const include of valueSet.compose.include ?? []) merge(codes, included(include, inside))
    for (const exclude of valueSet.compose.exclude ?? []) remove(codes, included(exclude, inside))
    return codes
  }

  /** `undefined`: cannot be enumerated from the installed packages. `null`: a definition is not loaded yet. */
  return (canonical) => {
    if (known.has(canonical)) return known.get(canonical)
    let result: BoundCodes | undefined
    try {
      const codes = toBoundCodes(expand(canonical, []))
      result = codes.size === 0 ? undefined : codes
    } catch (error) {
      if (error instanceof NotYet) return null
      if (!(error instanceof NotEnumerable)) throw error
    } finally {
      parts.clear()
    }
    known.set(canonical, result)
    return result
  }
}

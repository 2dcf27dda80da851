/** Translates a code by concept maps. https://hl7.org/fhir/R4/conceptmap-operation-translate.html */
import { joinVersion } from '../canonical.ts'
import type { Json } from '../expansion-contract.ts'
import type { ConceptMap, MapGroup, Mapping, OtherElement } from './concept-map.ts'

export interface TranslatedCoding {
  readonly system: string
  readonly version?: string
  readonly code: string
}

/** What a request says of an element that a mapping may depend on. */
export interface Dependency {
  readonly element: string | undefined
  readonly concept: Json | undefined
}

export interface TranslateOptions {
  /** The code system in which a translation is sought. */
  readonly targetSystem: string | undefined
  readonly dependencies: readonly Dependency[]
  /** From the target of the map to its source. */
  readonly isReverse: boolean
  /** True for maps that the request named: groups that name no code system count for every one. */
  readonly isNamed: boolean
  /** The map that `unmapped.url` names. */
  readonly findMap: (canonical: string) => Promise<ConceptMap | undefined>
}

export interface Match {
  readonly equivalence: string
  readonly concept: Json | undefined
  readonly product: readonly OtherElement[]
  /** The canonical of the map. */
  readonly source: string | undefined
}

export interface Translation {
  readonly matches: readonly Match[]
  /** Sentences for people. */
  readonly hints: readonly string[]
}

const MAX_MAPS = 10 // maps that refer to one another by `unmapped.url`
const SHOWN = 200 // characters

const isMet = ({ property, system, value }: OtherElement, dependencies: readonly Dependency[]): boolean =>
  dependencies.some(({ element, concept }) => {
    if (element !== property) return false
    const { coding, text } = (concept ?? {}) as { readonly coding?: readonly Json[]; readonly text?: string }
    const fits = (one: Json): boolean => one.code === value && (system === undefined || one.system === system)
    return coding?.some(fits) === true || (system === undefined && text === value)
  })

interface Side {
  readonly from: string | undefined
  readonly fromVersion: string | undefined
  readonly to: string | undefined
  readonly toVersion: string | undefined
}

const sideOf = (group: MapGroup, isReverse: boolean): Side => {
  const { source, sourceVersion, target, targetVersion } = group
  return isReverse
    ? { from: target, fromVersion: targetVersion, to: source, toVersion: sourceVersion }
    : { from: source, fromVersion: sourceVersion, to: target, toVersion: targetVersion }
}

const toConcept = (side: Side, code: string | undefined, display: string | undefined): Json | undefined =>
  code === undefined
    ? undefined
    : {
        ...(side.to !== undefined && { system: side.to }),
        ...(side.toVersion !== undefined && { version: side.toVersion }),
        code,
        ...(display !== undefined && { display }),
      }

export const translate = async (
  map: ConceptMap,
  coding: TranslatedCoding,
  options: TranslateOptions,
  trail: readonly ConceptMap[] = [],
): Promise<Translation> => {
  const { targetSystem, dependencies, isReverse, isNamed, findMap } = options
  const source = map.url === undefined ? undefined : joinVersion(map.url, map.version)
  const matches: Match[] = []
  const hints: string[] = []
  const name = source ?? 'of the request'

  const concerns = ({ from, fromVersion, to }: Side): boolean =>
    (from === coding.system || (from === undefined && isNamed)) &&
    (fromVersion === undefined || coding.version === undefined || fromVersion === coding.version) &&
    (targetSystem === undefined || to === targetSystem)

  const addMapped = (side: Side, mappings: readonly Mapping[]): void => {
    for (const { code, display, equivalence, dependsOn, product } of mappings) {
      const missing = dependsOn.filter((one) => !isMet(one, dependencies))
      if (missing.length === 0) matches.push({ equivalence, concept: toConcept(side, code, display), product, source })
      else {
        const elements = missing.map(({ property, value }) => `${property} "${value}"`.slice(0, SHOWN)).join(' and ')
        hints.push(`The concept map ${name} has a mapping that depends on ${elements}; say so as dependency.`)
      }
    }
  }

  /** https://hl7.org/fhir/R4/conceptmap-definitions.html#ConceptMap.group.unmapped */
  const addUnmapped = async (side: Side, { unmapped }: MapGroup): Promise<void> => {
    if (unmapped === undefined) return
    const { mode, code, display, url = '' } = unmapped
    // How such a code relates to the other is not known.
    const about = { equivalence: 'relatedto', product: [], source }
    if (mode === 'provided') matches.push({ ...about, concept: toConcept(side, coding.code, undefined) })
    else if (mode === 'fixed') matches.push({ ...about, concept: toConcept(side, code, display) })
    else if (mode === 'other-map') {
      const other = await findMap(url)
      if (other === undefined || other === map || trail.includes(other) || trail.length >= MAX_MAPS) {
        const why = other === undefined ? 'is not here' : 'leads back to it, or too far'
        hints.push(`The concept map ${name} refers to ${url.slice(0, SHOWN)} for codes it does not map, which ${why}.`)
        return
      }
      const found = await translate(other, coding, { ...options, isNamed: true }, [...trail, map])
      matches.push(...found.matches)
      hints.push(...found.hints)
    }
  }

  for (const group of map.groups) {
    const side = sideOf(group, isReverse)
    if (!concerns(side)) continue
    const mapped = isReverse ? group.sourcesOf(coding.code) : group.targetsOf(coding.code)
    if (mapped !== undefined && mapped.length > 0) addMapped(side, mapped)
    else if (!isReverse) await addUnmapped(side, group)
  }
  return { matches, hints }
}

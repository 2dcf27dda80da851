/** A ConceptMap ready for translations: its targets by code, both ways. https://hl7.org/fhir/R4/conceptmap.html */
import type { Json } from '../expansion-contract.ts'
import { atOnce, inSlices, parseInSlices, type Steps } from '../in-slices.ts'

/** Another element that a mapping depends on, or that it produces. */
export interface OtherElement {
  /** A uri. */
  readonly property: string
  readonly system: string | undefined
  readonly value: string
  readonly display: string | undefined
}

/** A code that another one is mapped to. */
export interface Mapping {
  /** Undefined where the mapping says that there is no code. */
  readonly code: string | undefined
  readonly display: string | undefined
  /** Of http://hl7.org/fhir/concept-map-equivalence: how the result relates to the code that was translated. */
  readonly equivalence: string
  readonly dependsOn: readonly OtherElement[]
  readonly product: readonly OtherElement[]
}

/** What is used for codes that a group does not map. */
export interface Unmapped {
  /** provided, fixed, other-map */
  readonly mode: string
  readonly code: string | undefined
  readonly display: string | undefined
  readonly url: string | undefined
}

export interface MapGroup {
  readonly source: string | undefined
  readonly sourceVersion: string | undefined
  readonly target: string | undefined
  readonly targetVersion: string | undefined
  readonly unmapped: Unmapped | undefined
  /** Undefined for a code without a mapping. */
  targetsOf(code: string): readonly Mapping[] | undefined
  /** The codes that are mapped to this one. */
  sourcesOf(code: string): readonly Mapping[] | undefined
}

export interface ConceptMap {
  readonly url: string | undefined
  readonly version: string | undefined
  readonly status: string | undefined
  /** Names of the value sets, or of other artifacts, that the codes are of. */
  readonly source: string | undefined
  readonly target: string | undefined
  readonly groups: readonly MapGroup[]
  /** The number of mappings. */
  readonly size: number
}

/** The equivalence of a mapping that is read from its target to its source; others are the same both ways. */
const REVERSED: ReadonlyMap<string, string> = new Map([
  ['wider', 'narrower'],
  ['narrower', 'wider'],
  ['subsumes', 'specializes'],
  ['specializes', 'subsumes'],
])

const listOf = (value: unknown): readonly Json[] => (Array.isArray(value) ? (value as Json[]) : [])
const textOf = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined)

const readOther = ({ property, system, value, display }: Json): OtherElement => ({
  property: String(property),
  system: textOf(system),
  value: String(value),
  display: textOf(display),
})

const readTarget = ({ code, display, equivalence, dependsOn, product }: Json): Mapping => ({
  code: textOf(code),
  display: textOf(display),
  equivalence: textOf(equivalence) ?? 'relatedto',
  dependsOn: listOf(dependsOn).map(readOther),
  product: listOf(product).map(readOther),
})

const push = (into: Map<string, Mapping[]>, code: string, more: readonly Mapping[]): void => {
  const known = into.get(code)
  if (known === undefined) into.set(code, [...more])
  else known.push(...more)
}

const AT_ONCE = 200 // elements that are read without a pause

function* readGroup(group: Json): Steps<MapGroup & { readonly size: number }> {
  const bySource = new Map<string, Mapping[]>()
  const displays = new Map<string, string>()
  let size = 0
  for (const [at, { code, display, target }] of listOf(group.element).entries()) {
    if (at % AT_ONCE === 0) yield
    if (typeof code !== 'string') continue
    const targets = listOf(target).map(readTarget)
    push(bySource, code, targets)
    if (typeof display === 'string') displays.set(code, display)
    size += 1 + targets.length
  }
  // Few requests ask for it.
  let byTarget: Map<string, Mapping[]> | undefined
  const reversed = (): Map<string, Mapping[]> => {
    const made = new Map<string, Mapping[]>()
    for (const [code, targets] of bySource)
      for (const { code: target, equivalence, dependsOn } of targets) {
        if (target === undefined) continue
        const back = { code, display: displays.get(code), dependsOn, product: [] }
        push(made, target, [{ ...back, equivalence: REVERSED.get(equivalence) ?? equivalence }])
      }
    return made
  }
  const { unmapped } = group as { readonly unmapped?: Json }
  return {
    size,
    source: textOf(group.source),
    sourceVersion: textOf(group.sourceVersion),
    target: textOf(group.target),
    targetVersion: textOf(group.targetVersion),
    unmapped:
      unmapped === undefined
        ? undefined
        : {
            mode: String(unmapped.mode),
            code: textOf(unmapped.code),
            display: textOf(unmapped.display),
            url: textOf(unmapped.url),
          },
    targetsOf: (code) => bySource.get(code),
    sourcesOf(code) {
      byTarget ??= reversed()
      return byTarget.get(code)
    },
  }
}

function* reading(resource: Json): Steps<ConceptMap> {
  const groups: (MapGroup & { readonly size: number })[] = []
  for (const group of listOf(resource.group)) groups.push(yield* readGroup(group))
  return {
    url: textOf(resource.url),
    version: textOf(resource.version),
    status: textOf(resource.status),
    source: textOf(resource.sourceCanonical) ?? textOf(resource.sourceUri),
    target: textOf(resource.targetCanonical) ?? textOf(resource.targetUri),
    groups,
    size: 1 + groups.reduce((sum, one) => sum + one.size, 0),
  }
}

export const readConceptMap = (resource: Json): ConceptMap => atOnce(reading(resource))

export const readConceptMapInSlices = (resource: Json): Promise<ConceptMap> => inSlices(reading(resource))

/** The same of the text of a resource. */
export const parseConceptMap = async (text: string): Promise<ConceptMap> =>
  readConceptMapInSlices(await parseInSlices(text))

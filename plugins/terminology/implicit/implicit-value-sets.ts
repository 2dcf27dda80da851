/**
 * Value sets that code systems define by the form of a URL. https://hl7.org/fhir/R4/snomedct.html#implicit,
 * https://hl7.org/fhir/R4/loinc.html#alll, https://hl7.org/fhir/R4/codesystem-definitions.html#CodeSystem.valueSet
 */
import { type Canonical, joinVersion, readCanonical } from '../canonical.ts'
import type { ConceptSource } from '../concept-source.ts'
import { type Json, NotExpandableHere } from '../expansion-contract.ts'
import type { ValueSetFilter } from '../filter.ts'
import type { DefinitionFinder } from '../find.ts'
import { type Constraint, type Filters, MEMBER_OF, readExpressionConstraint } from './expression-constraint.ts'

const SNOMED = 'http://snomed.info/sct'
const LOINC = 'http://loinc.org'
/** An edition, or a version of one, may stand in front of the question mark. */
const OF_SNOMED = /^(http:\/\/snomed\.info\/sct(?:\/\d{1,18}(?:\/version\/\d{8})?)?)\?fhir_vs(?:=(.*))?$/s
const OF_LOINC = /^http:\/\/loinc\.org\/vs(?:\/((?:LL|LP)[0-9A-Za-z-]{1,20}))?$/
/** The property of LOINC that names the answer lists of a code. */
const LIST = 'LIST'

const ALL: Constraint = { includes: [[]], excludes: [] }
const only = (filter: ValueSetFilter): Constraint => ({ includes: [[filter]], excludes: [] })
/** Of a code system without concepts the expansion says so. */
const hasConcepts = ({ content }: ConceptSource): boolean => content === 'complete' || content === 'fragment'

const decoded = (text: string): string => {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

/** Terms in an expression constraint stand between bars. */
const readNamed = (canonical: string): Canonical =>
  canonical.includes('?fhir_vs=ecl/') ? { url: canonical, version: undefined } : readCanonical(canonical)

/** Undefined for a form that is not defined. */
const snomedConstraint = (query: string | undefined): Constraint | undefined => {
  if (query === undefined || query === '') return ALL
  const [, kind, rest = ''] = /^(isa|refset|ecl)\/(.+)$/s.exec(query) ?? []
  if (kind === 'ecl') return readExpressionConstraint(decoded(rest))
  if (!/^\d{1,18}$/.test(rest)) {
    if (query === 'refset') throw new NotExpandableHere('which concepts are reference sets is not known here')
    return undefined
  }
  return only(
    kind === 'isa' ? { property: 'concept', op: 'is-a', value: rest } : { property: MEMBER_OF, op: '=', value: rest },
  )
}

const hasAny = async (system: ConceptSource, filter: ValueSetFilter): Promise<boolean> =>
  (await system.select(filter)).count > 0

/** A filter that names a concept or a reference set that is not here would select nothing, as if the value set was empty. */
const checkNames = async (system: ConceptSource, { includes, excludes }: Constraint): Promise<void> => {
  const filters = [...includes, ...excludes].flat()
  const codes = filters.flatMap(({ property, value }) => (property === MEMBER_OF || property === LIST ? [] : [value]))
  const found = codes.length === 0 ? undefined : await system.findAll(codes)
  const unknown = codes.find((code) => !found?.has(code))
  if (unknown !== undefined) throw new NotExpandableHere(`${unknown} is not in ${system.url}`)
  const sets = new Map(filters.filter(({ property }) => property === MEMBER_OF).map((one) => [one.value, one]))
  for (const [id, filter] of sets)
    if (!(await hasAny(system, filter)))
      throw new NotExpandableHere(`no members of ${id} are here, as no concept of ${system.url} has it as ${MEMBER_OF}`)
}

interface Implied {
  readonly system: string
  readonly version: string | undefined
  readonly constraint: Constraint
}

const toValueSet = (url: string, { system, version, constraint }: Implied, found: ConceptSource | undefined): Json => {
  const include = (filter: Filters): Json => ({
    system,
    ...(version !== undefined && { version }),
    ...(filter.length > 0 && { filter }),
  })
  const { includes, excludes } = constraint
  return {
    resourceType: 'ValueSet',
    url,
    status: 'active',
    ...(found?.changed !== undefined && { date: found.changed }),
    compose: {
      include: includes.map(include),
      ...(excludes.length > 0 && { exclude: excludes.map(include) }),
    },
  }
}

/** The answers of a list are concepts with a property, or they are below it. Throws NotExpandableHere where there are none. */
const answersOf = async (loinc: ConceptSource | undefined, id: string): Promise<Constraint> => {
  const named: ValueSetFilter = { property: LIST, op: '=', value: id }
  const below: ValueSetFilter = { property: 'concept', op: 'descendent-of', value: id }
  if (loinc === undefined || !hasConcepts(loinc) || (await hasAny(loinc, named))) return only(named)
  if ((await loinc.find(id)) === undefined)
    throw new NotExpandableHere(`${id} is not in ${loinc.url}, and no concept there has it as ${LIST}`)
  // Such as of a list that another code system defines.
  if (!(await hasAny(loinc, below))) throw new NotExpandableHere(`no answers of ${id} are here`)
  return only(below)
}

export const withImplicitValueSets = (find: DefinitionFinder): DefinitionFinder => {
  const ofSnomed = (canonical: string): Implied | undefined => {
    const { url, version } = readNamed(canonical)
    const [, base, query] = OF_SNOMED.exec(url) ?? []
    const constraint = base === undefined ? undefined : snomedConstraint(query)
    return constraint && { system: SNOMED, version: base === SNOMED ? version : base, constraint }
  }
  const ofLoinc = async (canonical: string): Promise<Implied | undefined> => {
    const { url, version } = readCanonical(canonical)
    const matched = OF_LOINC.exec(url)
    if (matched === null) return undefined
    const [, id] = matched
    if (id === undefined) return { system: LOINC, version, constraint: ALL }
    const constraint = id.startsWith('LP')
      ? only({ property: 'concept', op: 'descendent-of', value: id })
      : await answersOf(await find.source(joinVersion(LOINC, version)), id)
    return { system: LOINC, version, constraint }
  }
  /** The value set that a code system names as its own, or [url]/vs and [url]?vs of one that names none. */
  const ofSystem = async (canonical: string): Promise<Implied | undefined> => {
    const { url, version } = readCanonical(canonical)
    const candidates = [
      { system: url.replace(/(?:\/vs|\?vs|\?fhir_vs)$/, ''), mayBeUnsaid: true },
      { system: url.replace('/ValueSet/', '/CodeSystem/'), mayBeUnsaid: false },
      { system: url.replace('/ValueSet/', '/'), mayBeUnsaid: false },
    ]
    for (const { system, mayBeUnsaid } of candidates) {
      if (system === url || system === '') continue
      const found = await find.source(joinVersion(system, version))
      if (found === undefined || found.content === 'supplement') continue
      const said = found.valueSet === undefined ? undefined : readCanonical(found.valueSet).url
      if (said === url || (said === undefined && mayBeUnsaid)) return { system, version, constraint: ALL }
    }
    return undefined
  }
  return {
    ...find,
    async valueSet(canonical) {
      const defined = await find.valueSet(canonical)
      if (defined !== undefined) return defined
      const implied = ofSnomed(canonical) ?? (await ofLoinc(canonical)) ?? (await ofSystem(canonical))
      if (implied === undefined) return undefined
      const found = await find.source(joinVersion(implied.system, implied.version))
      if (found !== undefined && hasConcepts(found)) await checkNames(found, implied.constraint)
      return toValueSet(readNamed(canonical).url, implied, found)
    },
  }
}

/** Puts the concepts of a staged release of SNOMED CT together. https://hl7.org/fhir/R4/snomedct.html */
import type { Designation, PropertyValue } from '../code-system.ts'
import { isOfLanguage } from '../display.ts'
import { MEMBER_OF } from '../implicit/expression-constraint.ts'
import type { LoadedConcept } from '../indexed/loaded-concept.ts'
import { BATCH } from './release.ts'
import { DEFINITION, FULLY_SPECIFIED, IS_A, SYNONYM } from './snomed-tables.ts'
import type { Staging } from './staging.ts'

export const SNOMED = 'http://snomed.info/sct'
const DEFINED = '900000000000073002'
const US_ENGLISH = '900000000000509007'
const USES: Readonly<Record<string, string>> = {
  [FULLY_SPECIFIED]: 'Fully specified name',
  [SYNONYM]: 'Synonym',
}

interface ConceptRow {
  readonly code: string
  readonly time: string
  readonly active: number
  readonly module: string
  readonly status: string
}
interface Description {
  readonly concept: string
  readonly language: string
  readonly type: string
  readonly term: string
  /** 0 where no language reference set prefers it. */
  readonly preference: number
}
interface Linked {
  readonly concept: string
  readonly type: string
  readonly target: string
}

const toDesignation = ({ language, type, term }: Description): Designation => ({
  language,
  use: { system: SNOMED, code: type, ...(USES[type] !== undefined && { display: USES[type] }) },
  value: term,
})

/** Preferred terms first, so that they are what a language displays; fully specified names behind synonyms. */
const byPreference = (one: Description, other: Description): number =>
  Number(one.type === FULLY_SPECIFIED) - Number(other.type === FULLY_SPECIFIED) || other.preference - one.preference

const property = (code: string, value: PropertyValue['value']): PropertyValue => ({ code, value })

const toConcept = (
  row: ConceptRow,
  descriptions: readonly Description[],
  linked: readonly Linked[],
  refsets: readonly string[],
  language: string,
): LoadedConcept => {
  const isOwn = (one: Description): boolean => isOfLanguage(one.language, language)
  const sorted = descriptions.filter(({ type }) => type !== DEFINITION).sort(byPreference)
  const definitions = descriptions.filter(({ type }) => type === DEFINITION)
  const attributes = linked.filter(({ type }) => type !== IS_A)
  return {
    code: row.code,
    display: (sorted.find(isOwn) ?? sorted[0])?.term,
    definition: (definitions.find(isOwn) ?? definitions[0])?.term,
    designations: sorted.map(toDesignation),
    properties: [
      property('inactive', { valueBoolean: row.active === 0 }),
      property('sufficientlyDefined', { valueBoolean: row.status === DEFINED }),
      property('moduleId', { valueCode: row.module }),
      property('effectiveTime', { valueString: row.time }),
      ...attributes.map(({ type, target }) => property(type, { valueCode: target })),
      ...refsets.map((refset) => property(MEMBER_OF, { valueCode: refset })),
    ],
    parents: linked.filter(({ type }) => type === IS_A).map(({ target }) => target),
    isInactive: row.active === 0,
  }
}

/** Gives BATCH concepts from a place on, in the order of their codes. */
export const createSnomedConcepts = (staging: Staging, language: string) => {
  const some = staging.prepare('SELECT * FROM concept WHERE code > ? ORDER BY code LIMIT ?')
  const codeAt = staging.prepare('SELECT code FROM concept ORDER BY code LIMIT 1 OFFSET ?')
  const descriptions = staging.prepare(
    `SELECT d.concept, d.language, d.type, d.term, max(CASE WHEN a.preferred = 1 THEN CASE a.refset WHEN '${US_ENGLISH}' THEN 2 ELSE 1 END ELSE 0 END) AS preference FROM description d LEFT JOIN accepted a ON a.description = d.id AND a.active = 1 WHERE d.concept >= ? AND d.concept <= ? AND d.active = 1 GROUP BY d.concept, d.id`,
  )
  const relations = staging.prepare(
    'SELECT DISTINCT concept, type, target FROM relation WHERE concept >= ? AND concept <= ? AND active = 1 ORDER BY concept, type, target',
  )
  const members = staging.prepare(
    'SELECT DISTINCT concept, refset FROM member WHERE concept >= ? AND concept <= ? AND active = 1 ORDER BY concept, refset',
  )
  let last: { readonly place: number; readonly code: string } | undefined
  return (place: number): readonly LoadedConcept[] => {
    if (last?.place !== place)
      last = { place, code: place === 0 ? '' : (codeAt.get(place - 1) as { code: string }).code }
    const rows = some.all(last.code, BATCH) as readonly ConceptRow[]
    const [first, end] = [rows[0]?.code, rows.at(-1)?.code]
    if (first === undefined || end === undefined) return []
    last = { place: place + rows.length, code: end }
    const texts = Map.groupBy(descriptions.all(first, end) as readonly Description[], ({ concept }) => concept)
    const links = Map.groupBy(relations.all(first, end) as readonly Linked[], ({ concept }) => concept)
    const sets = Map.groupBy(
      members.all(first, end) as readonly { concept: string; refset: string }[],
      ({ concept }) => concept,
    )
    return rows.map((row) =>
      toConcept(
        row,
        texts.get(row.code) ?? [],
        links.get(row.code) ?? [],
        (sets.get(row.code) ?? []).map(({ refset }) => refset),
        language,
      ),
    )
  }
}

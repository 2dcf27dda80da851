/** A small release of SNOMED CT in the real format, with made content but for the identifiers that the format itself has. */

export const SNOMED = 'http://snomed.info/sct'
const CORE = '900000000000207008'
const PRIMITIVE = '900000000000074008'
const FSN = '900000000000003001'
const SYNONYM = '900000000000013009'
const DEFINITION = '900000000000550004'
const PREFERRED = '900000000000548007'
const ACCEPTABLE = '900000000000549004'
const US = '900000000000509007'
const GERMAN = '722130004'
const IS_A = '116680003'
const INFERRED = '900000000000011006'

const SITE = '363698007'
const CASE = '900000000000448009'
const MODIFIER = '900000000000451002'
export const ROOT = '138875005'
/** Below the root; below that FRACTURE, and WRIST below FRACTURE. RETIRED is inactive. */
export const DISORDER = '64572001'
export const FRACTURE = '125605004'
export const WRIST = '263102004'
export const BONE = '272673000'
export const RETIRED = '155239004'
export const REFSET = '723264001'

const table = (heading: string, rows: readonly (readonly string[])[]): string =>
  [heading.split(' '), ...rows].map((row) => `${row.join('\t')}\r\n`).join('')

const CONCEPTS: readonly (readonly [id: string, active: string, fsn: string, synonym: string])[] = [
  [ROOT, '1', 'SNOMED CT Concept (SNOMED RT+CTV3)', 'SNOMED CT Concept'],
  [DISORDER, '1', 'Disease (disorder)', 'Disease'],
  [FRACTURE, '1', 'Fracture of bone (disorder)', 'Fracture of bone'],
  [WRIST, '1', 'Fracture of wrist (disorder)', 'Broken "wrist"'],
  [BONE, '1', 'Bone structure (body structure)', 'Bone structure'],
  [RETIRED, '0', 'Old fracture thing (disorder)', 'Old fracture thing'],
  [REFSET, '1', 'Made simple reference set (foundation metadata concept)', 'Made simple reference set'],
]
const numbered = (base: number, n: number): string => String(base + n * 10)

export interface SnomedParts {
  /** A date: that of the files. */
  readonly date?: string
}

/** Content by path. */
export const snomedRelease = ({ date = '20260101' }: SnomedParts = {}): Record<string, string> => {
  const snapshot = `SnomedCT_Made_${date}/Snapshot`
  const terminology = `${snapshot}/Terminology`
  const refset = `${snapshot}/Refset`
  const description = (n: number, concept: string, language: string, type: string, term: string, active = '1') => [
    ...[numbered(1000001, n), date, active, CORE, concept, language, type, term, CASE],
  ]
  const described = CONCEPTS.flatMap(([id, , fsn, synonym], n) => [
    description(n * 3, id, 'en', FSN, fsn),
    description(n * 3 + 1, id, 'en', SYNONYM, synonym),
  ])
  const accepted = (n: number, refset: string, description: string, kind: string) => [
    ...[`80000000-0000-4000-8000-${String(n).padStart(12, '0')}`, date, '1', CORE, refset, description, kind],
  ]
  const others = [
    // Comes first in the file and is only accepted, so it is not the display.
    description(100, WRIST, 'en', SYNONYM, 'Aa fracture of the carpus'),
    description(101, WRIST, 'de', SYNONYM, 'Handgelenksbruch'),
    description(102, WRIST, 'de', SYNONYM, 'Fraktur des Handgelenks'),
    description(103, WRIST, 'en', SYNONYM, 'A term that was retired', '0'),
  ]
  const member = (n: number, concept: string, active = '1') => [
    ...[`90000000-0000-4000-8000-${String(n).padStart(12, '0')}`, date, active, CORE, REFSET, concept],
  ]
  const relation = (n: number, from: string, to: string, type: string, active = '1') => [
    ...[numbered(2000001, n), date, active, CORE, from, to, '0', type, INFERRED, MODIFIER],
  ]
  const HEAD = 'id effectiveTime active moduleId'
  return {
    [`${terminology}/sct2_Concept_Snapshot_INT_${date}.txt`]: table(
      `${HEAD} definitionStatusId`,
      CONCEPTS.map(([id, active]) => [id, '20020131', active, CORE, id === WRIST ? '900000000000073002' : PRIMITIVE]),
    ),
    [`${terminology}/sct2_Description_Snapshot-en_INT_${date}.txt`]: table(
      `${HEAD} conceptId languageCode typeId term caseSignificanceId`,
      [...others, ...described],
    ),
    [`${terminology}/sct2_TextDefinition_Snapshot-en_INT_${date}.txt`]: table(
      `${HEAD} conceptId languageCode typeId term caseSignificanceId`,
      [description(200, FRACTURE, 'en', DEFINITION, 'A break of a bone.')],
    ),
    [`${refset}/Language/der2_cRefset_LanguageSnapshot-en_INT_${date}.txt`]: table(
      `${HEAD} refsetId referencedComponentId acceptabilityId`,
      [
        ...described.map(([id = ''], n) => accepted(n, US, id, PREFERRED)),
        accepted(100, US, numbered(1000001, 100), ACCEPTABLE),
        accepted(101, GERMAN, numbered(1000001, 101), PREFERRED),
        accepted(102, GERMAN, numbered(1000001, 102), ACCEPTABLE),
      ],
    ),
    [`${terminology}/sct2_Relationship_Snapshot_INT_${date}.txt`]: table(
      `${HEAD} sourceId destinationId relationshipGroup typeId characteristicTypeId modifierId`,
      [
        relation(1, DISORDER, ROOT, IS_A),
        relation(2, FRACTURE, DISORDER, IS_A),
        relation(3, WRIST, FRACTURE, IS_A),
        relation(4, BONE, ROOT, IS_A),
        relation(5, WRIST, BONE, SITE),
        relation(6, BONE, DISORDER, IS_A, '0'),
        relation(7, REFSET, ROOT, IS_A),
      ],
    ),
    [`${refset}/Content/der2_Refset_SimpleSnapshot_INT_${date}.txt`]: table(`${HEAD} refsetId referencedComponentId`, [
      member(1, WRIST),
      member(2, BONE, '0'),
      member(3, DISORDER),
    ]),
    // Other kinds of files are left alone.
    [`${refset}/Map/der2_iisssccRefset_ExtendedMapSnapshot_INT_${date}.txt`]: 'id\tsomething\r\n1\t2\r\n',
    [`SnomedCT_Made_${date}/Full/Terminology/sct2_Concept_Full_INT_${date}.txt`]: 'not read',
  }
}

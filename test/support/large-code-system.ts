/** A made code system: `count` concepts, each below the one of a tenth of its number, with properties and designations. */
type Json = Record<string, unknown>

export const LARGE = 'http://large.example'

const WORDS = [
  'acute',
  'chronic',
  'fever',
  'fracture',
  'heart',
  'lung',
  'left',
  'right',
  'upper',
  'lower',
  'open',
  'closed',
]
const words = (n: number): string =>
  [WORDS[n % 12], WORDS[Math.floor(n / 12) % 12], WORDS[Math.floor(n / 144) % 12]].join(' ')

/** Concept 0 has the code C0 and is the root; every seventh is inactive, every hundredth abstract. */
export const largeConcept = (n: number): Json => ({
  code: `C${n}`,
  display: `${words(n)} ${n}`,
  ...(n % 5 === 0 ? { designation: [{ language: 'de', value: `Begriff ${n}` }] } : {}),
  property: [
    ...(n === 0 ? [] : [{ code: 'parent', valueCode: `C${Math.floor(n / 10)}` }]),
    { code: 'group', valueString: `g${n % 50}` },
    ...(n % 7 === 0 ? [{ code: 'inactive', valueBoolean: true }] : []),
    ...(n % 100 === 0 ? [{ code: 'notSelectable', valueBoolean: true }] : []),
  ],
})

export const largeCodeSystem = (count: number, more: Json = {}): Json => ({
  resourceType: 'CodeSystem',
  ...{ id: 'large', url: LARGE, version: '1', name: 'Large', status: 'active', content: 'complete' },
  hierarchyMeaning: 'is-a',
  property: [
    { code: 'parent', uri: 'http://hl7.org/fhir/concept-properties#parent', type: 'code' },
    { code: 'group', type: 'string' },
    { code: 'inactive', type: 'boolean' },
    { code: 'notSelectable', type: 'boolean' },
  ],
  concept: Array.from({ length: count }, (_, n) => largeConcept(n)),
  ...more,
})

/** Code systems by chance: hierarchies by nesting and by property, circles, case, languages, states. */
type Json = Record<string, unknown>

/** Numbers from 0 to 1 that a seed decides. */
export const seeded = (seed: number): (() => number) => {
  let state = seed >>> 0
  // mulberry32
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

export const WORDS = [
  'Fever',
  'acute',
  'Émphase',
  'heart',
  'HEART block',
  'x-ray',
  'of',
  'the',
  'ä',
  'Straße',
  '100%',
  '(left) tab\tnext',
  '_',
]
const LANGUAGES = ['de', 'de-AT', 'fr', undefined]

export interface RandomSystem {
  readonly resource: Json
  readonly codes: readonly string[]
}

export const randomCodeSystem = (random: () => number, url = 'http://random.example'): RandomSystem => {
  const below = (most: number): number => Math.floor(random() * most)
  const one = <T>(list: readonly T[]): T => list[below(list.length)] as T
  const isNested = random() < 0.5
  const isCaseSensitive = random() < 0.6
  const count = 1 + below(40)
  const codes = [...new Set(Array.from({ length: count }, () => `${one(['A', 'b', 'É', 'c d'])}${below(60)}`))]
  const text = (): string => Array.from({ length: 1 + below(3) }, () => one(WORDS)).join(' ')
  const concepts = codes.map((code): Json => {
    const property = [
      ...(random() < 0.3 ? [{ code: 'status', valueCode: one(['retired', 'active']) }] : []),
      ...(random() < 0.2 ? [{ code: 'notSelectable', valueBoolean: random() < 0.5 }] : []),
      ...Array.from({ length: below(3) }, () => ({ code: 'like', valueString: one([...WORDS, ...codes]) })),
      ...(random() < 0.2 ? [{ code: 'kind', valueCoding: { system: 'http://x', code: one(['k', 'l']) } }] : []),
      ...(random() < 0.2 ? [{ code: 'weight', valueDecimal: below(4) / 2 }] : []),
      ...(isNested
        ? []
        : Array.from({ length: below(3) }, () => ({ code: 'parent', valueCode: one([...codes, 'no']) }))),
    ]
    const designation = Array.from({ length: below(3) }, () => ({ language: one(LANGUAGES), value: text() }))
    return {
      code,
      ...(random() < 0.9 ? { display: text() } : {}),
      ...(random() < 0.3 ? { definition: text() } : {}),
      ...(property.length === 0 ? {} : { property }),
      ...(designation.length === 0 ? {} : { designation }),
    }
  })
  const nest = (list: readonly Json[]): Json[] => {
    const roots: Json[] = []
    for (const [at, concept] of list.entries()) {
      const parent = at > 0 && random() < 0.8 ? (list[below(at)] as Json) : undefined
      if (parent === undefined) roots.push(concept)
      else parent.concept = [...((parent.concept as Json[]) ?? []), concept]
    }
    return roots
  }
  return {
    codes,
    resource: {
      resourceType: 'CodeSystem',
      ...{ url, status: 'active', content: 'complete', version: '1', caseSensitive: isCaseSensitive },
      ...(random() < 0.3 ? { language: one(['de', 'en']) } : {}),
      property: [
        { code: 'parent', uri: 'http://hl7.org/fhir/concept-properties#parent', type: 'code' },
        { code: 'status', uri: 'http://hl7.org/fhir/concept-properties#status', type: 'code' },
        { code: 'like', type: 'code' },
        { code: 'weight', type: 'decimal' },
      ],
      concept: isNested ? nest(concepts) : concepts,
    },
  }
}

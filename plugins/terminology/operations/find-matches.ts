/** $find-matches: codes that have certain properties. https://hl7.org/fhir/R4/codesystem-operation-find-matches.html */
import type { AnsweringOperation, Inputs, OperationParameter } from '../../fhir/service.ts'
import { joinVersion } from '../canonical.ts'
import type { CodeSystem, Concept } from '../code-system.ts'
import type { ConceptSource } from '../concept-source.ts'
import { CodeSystemIncomplete, InputMissing, NotCompositional } from '../errors.ts'
import type { Json } from '../expansion-contract.ts'
import { isInMemory } from '../memory-source.ts'
import type { ExpansionService } from '../terminology.ts'
import { namedSystem } from './operation-inputs.ts'
import { refuseOtherSystem, requestedSystem } from './requested-system.ts'

/** The best ones; a code system may have very many that share one property. */
const MAX_MATCHES = 100

const VALUED: readonly OperationParameter[] = [
  { name: 'code', type: 'code', min: 1, documentation: 'The code of the property.' },
  { name: 'value', type: 'Element', documentation: 'Its value.' },
]

interface Property {
  readonly code: string
  readonly value: unknown
  readonly inner: readonly Property[]
}

const readProperty = (one: Inputs): Property => ({
  code: one.get<string>('code') ?? '',
  value: one.get('value'),
  inner: one.all<Inputs>('subproperty').map(readProperty),
})

/** A Coding is compared by its code, as filters of value sets do. */
const textOf = (value: unknown): string | undefined =>
  value === undefined ? undefined : String(typeof value === 'object' && value !== null ? (value as Json).code : value)

const valuesOf = (property: string, concept: Concept): readonly string[] => {
  switch (property) {
    case 'code':
    case 'concept':
      return [concept.code]
    case 'display':
      return [
        ...(concept.display === undefined ? [] : [concept.display]),
        ...concept.designations.map(({ value }) => value),
      ]
    case 'definition':
      return concept.definition === undefined ? [] : [concept.definition]
    case 'parent':
      return Array.from(concept.parents, ({ code }) => code)
    case 'child':
      return Array.from(concept.children, ({ code }) => code)
    default:
      return concept.properties.get(property) ?? []
  }
}

/** A property without a value is matched by any value. Parts of properties are in no code system here. */
const isMatched = ({ code, value, inner }: Property, concept: Concept): boolean => {
  const values = valuesOf(code, concept)
  const wanted = textOf(value)
  return inner.length === 0 && (wanted === undefined ? values.length > 0 : values.includes(wanted))
}

const toWords = (text: string): string => text.toLowerCase().normalize('NFKD').replace(/\p{M}/gu, '')

/** Whether the texts of the concept have the text of the property. */
const isMentioned = ({ value }: Property, { display, definition, designations }: Concept): boolean => {
  const wanted = typeof value === 'string' ? toWords(value.trim()) : ''
  const texts = [display, definition, ...designations.map((one) => one.value)]
  return wanted !== '' && texts.some((text) => text !== undefined && toWords(text).includes(wanted))
}

interface Found {
  readonly concept: Concept
  readonly unmatched: readonly Property[]
  readonly comment: string | undefined
  /** The higher the better. */
  readonly rank: number
}

const judge = (concept: Concept, properties: readonly Property[], isExact: boolean): Found | undefined => {
  const unmatched = properties.filter((one) => !isMatched(one, concept))
  const rank = properties.length - unmatched.length
  if (unmatched.length === 0) return { concept, unmatched, comment: undefined, rank }
  const mentioned = isExact ? [] : unmatched.filter((one) => isMentioned(one, concept))
  if (rank === 0 && mentioned.length === 0) return undefined
  const names = mentioned.map(({ code }) => code).join(', ')
  const comment = isExact
    ? undefined
    : mentioned.length === 0
      ? 'It has some of the properties only.'
      : `A possible match: a text of the code has the value of ${names}.`
  return { concept, unmatched, comment, rank: rank + mentioned.length / (properties.length + 1) }
}

/** The `value[x]` member of a property, as the code system declares it where it is used, else by the value itself. */
const memberFor = (system: CodeSystem, { code, value }: Property): string => {
  if (typeof value === 'boolean') return 'valueBoolean'
  if (typeof value === 'number') return Number.isInteger(value) ? 'valueInteger' : 'valueDecimal'
  if (typeof value === 'object') return 'valueCoding'
  if (['code', 'concept', 'parent', 'child'].includes(code)) return 'valueCode'
  for (const { values } of system.concepts.values()) {
    const [member] = Object.keys(values.find((one) => one.code === code)?.value ?? {})
    if (member === 'valueCode' || member === 'valueDateTime') return member
    if (member !== undefined) break
  }
  return 'valueString'
}

const toParts = (system: CodeSystem, one: Property): readonly Json[] => [
  { name: 'code', valueCode: one.code },
  ...(one.value === undefined ? [] : [{ name: 'value', [memberFor(system, one)]: one.value }]),
  ...one.inner.map((each) => ({ name: 'property', part: toParts(system, each) })),
]

const toMatch = (system: CodeSystem, { concept, unmatched, comment }: Found): Json => ({
  name: 'match',
  part: [
    {
      name: 'code',
      valueCoding: {
        system: system.url,
        ...(system.version !== undefined && { version: system.version }),
        code: concept.code,
        ...(concept.display !== undefined && { display: concept.display }),
      },
    },
    ...unmatched.map((one) => ({ name: 'unmatched', part: toParts(system, one) })),
    ...(comment === undefined ? [] : [{ name: 'comment', valueString: comment }]),
  ],
})

/** The code system with its concepts, which are all gone through. Throws 400 where they are in the index only. */
const wholeOf = async (terminology: ExpansionService, source: ConceptSource): Promise<CodeSystem> => {
  if (isInMemory(source)) return source.system
  const whole = await terminology.codeSystem(joinVersion(source.url, source.version))
  if (whole === undefined) throw CodeSystemIncomplete(source.url.slice(0, 200), 'an index')
  return whole
}

export const findMatchesOperation = (terminology: ExpansionService): AnsweringOperation => ({
  code: 'find-matches',
  definition: 'http://hl7.org/fhir/OperationDefinition/CodeSystem-find-matches',
  documentation: 'Codes that have certain properties, or some of them.',
  levels: ['type', 'instance'],
  types: ['CodeSystem'],
  parameters: [
    { name: 'system', type: 'uri', documentation: 'The code system.' },
    { name: 'version', type: 'string', documentation: 'Its version.' },
    {
      name: 'property',
      max: '*',
      documentation: 'A property that the code should have.',
      part: [...VALUED, { name: 'subproperty', max: '*', documentation: 'A part of it.', part: VALUED }],
    },
    {
      name: 'exact',
      type: 'boolean',
      documentation: 'False: also codes with texts that have the values; the default.',
    },
    { name: 'compositional', type: 'boolean', documentation: 'False only: no expressions are composed.' },
  ],
  async answer(invocation) {
    const { inputs } = invocation
    if (inputs.get('compositional') === true) throw NotCompositional()
    const named = await namedSystem(terminology, 'CodeSystem', inputs.get('system'), inputs.get('version'), [
      'system',
      'version',
      'find-matches',
    ])
    const source = await requestedSystem(terminology, invocation, named, {
      operation: 'find-matches',
      needs: 'the system to look in',
      contents: 'complete or a fragment',
    })
    refuseOtherSystem(invocation, source, ['find-matches', 'system'], named)
    const properties = inputs.all<Inputs>('property').map(readProperty)
    if (properties.length === 0) throw InputMissing('find-matches', 'a property')
    const isExact = inputs.get('exact') === true
    const system = await wholeOf(terminology, source)
    const found: Found[] = []
    for (const concept of system.concepts.values()) {
      const one = judge(concept, properties, isExact)
      if (one !== undefined) found.push(one)
    }
    const shown = found.sort((one, other) => other.rank - one.rank).slice(0, MAX_MATCHES)
    const parameter = shown.map((one) => toMatch(system, one))
    return { resource: { resourceType: 'Parameters', ...(parameter.length > 0 && { parameter }) } }
  },
})

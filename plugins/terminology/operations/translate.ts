/** $translate: codes that concept maps map a code to. https://hl7.org/fhir/R4/conceptmap-operation-translate.html */
import type { AnsweringOperation, Inputs, Invocation, OperationParameter } from '../../fhir/service.ts'
import { joinVersion, readCanonical } from '../canonical.ts'
import {
  type ConceptMap,
  type OtherElement,
  parseConceptMap,
  readConceptMapInSlices,
} from '../concept-map/concept-map.ts'
import type { MapFinder } from '../concept-map/map-finder.ts'
import { type Dependency, type Match, type TranslatedCoding, translate } from '../concept-map/translate.ts'
import { ConceptMapUnknown, InputMissing, InputsTooMany } from '../errors.ts'
import type { Json } from '../expansion-contract.ts'
import { literalId } from './literal-id.ts'
import { type InputCoding, toParameters } from './operation-inputs.ts'
import { refuseContradiction } from './refuse-contradiction.ts'

const SHOWN = 200 // characters of what was sent
/** Equivalences that say that there is no translation. */
const NOT_TRANSLATED: ReadonlySet<string> = new Set(['unmatched', 'disjoint'])

const PARAMETERS: readonly OperationParameter[] = [
  { name: 'url', type: 'uri', documentation: 'Canonical URL of the concept map.' },
  { name: 'conceptMap', type: 'ConceptMap', documentation: 'The concept map itself.' },
  { name: 'conceptMapVersion', type: 'string', documentation: 'The version of the concept map.' },
  { name: 'code', type: 'code', documentation: 'The code to translate.' },
  { name: 'system', type: 'uri', documentation: 'Its code system.' },
  { name: 'version', type: 'string', documentation: 'The version of its code system.' },
  { name: 'source', type: 'uri', documentation: 'The value set that the code was chosen from.' },
  { name: 'coding', type: 'Coding', documentation: 'The coding to translate.' },
  { name: 'codeableConcept', type: 'CodeableConcept', documentation: 'A concept, of which each coding is translated.' },
  { name: 'target', type: 'uri', documentation: 'The value set in which a translation is sought.' },
  { name: 'targetsystem', type: 'uri', documentation: 'The code system in which a translation is sought.' },
  {
    name: 'dependency',
    max: '*',
    documentation: 'Another element, on which mappings may depend.',
    part: [
      { name: 'element', type: 'uri', documentation: 'The element.' },
      { name: 'concept', type: 'CodeableConcept', documentation: 'Its value.' },
    ],
  },
  {
    name: 'reverse',
    type: 'boolean',
    documentation: 'True: which codes are mapped to this one; source and target change places.',
  },
]

/** The codings to translate. Throws 400 unless there is one code, coding or codeableConcept, and a system. */
const codingsIn = (inputs: Inputs): readonly TranslatedCoding[] => {
  const forms = ['code', 'coding', 'codeableConcept'] as const
  const given = forms.filter((name) => inputs.get(name) !== undefined)
  if (given.length > 1) throw InputsTooMany('translate', forms.join(', '), given.join(' and '))
  if (given.length === 0) throw InputMissing('translate', 'a code with its system, a coding or a codeableConcept')
  const asked: readonly InputCoding[] =
    given[0] === 'codeableConcept'
      ? (inputs.get<{ coding?: readonly InputCoding[] }>('codeableConcept')?.coding ?? [])
      : given[0] === 'coding'
        ? [inputs.get<InputCoding>('coding') ?? {}]
        : [
            {
              code: inputs.get<string>('code') ?? '',
              ...(inputs.get('system') === undefined ? {} : { system: inputs.get<string>('system') as string }),
              ...(inputs.get('version') === undefined ? {} : { version: inputs.get<string>('version') as string }),
            },
          ]
  const coding = given[0] === 'coding' ? asked[0] : undefined
  refuseContradiction('translate', ['system', inputs.get('system')], ['the system of coding', coding?.system])
  refuseContradiction('translate', ['version', inputs.get('version')], ['the version of coding', coding?.version])
  const found = asked.flatMap(({ system, version, code }) =>
    system === undefined || code === undefined ? [] : [{ system, code, ...(version !== undefined && { version }) }],
  )
  if (found.length === 0) throw InputMissing('translate', 'the code and the system of what it translates')
  return found
}

/** A value set, by all names that a map may use for it. */
type Names = ReadonlySet<string>

/**
 * The names of the value set in `source` or `target`: a canonical, or a resource of this server. Throws 404 for one that
 * is not there.
 */
const namesIn = async ({ inputs, data, request }: Invocation, name: string): Promise<Names | undefined> => {
  const given = inputs.get<string>(name)
  if (given === undefined) return undefined
  const { ownUrl } = request
  const own = ownUrl !== undefined && given.startsWith(`${ownUrl}/`) ? given.slice(ownUrl.length + 1) : given
  const id = literalId('ValueSet', own)
  if (id === undefined) return new Set([given])
  const { url } = (await data.read('ValueSet', id)).parse()
  return new Set([own, ...(typeof url === 'string' ? [url] : [])])
}

/** Versions are compared where both name one. */
const isOneOf = (names: Names, named: string | undefined): boolean => {
  if (named === undefined) return false
  const own = readCanonical(named)
  return [...names].some((name) => {
    if (name === named) return true
    const { url, version } = readCanonical(name)
    return url === own.url && (version === undefined || own.version === undefined || version === own.version)
  })
}

/** The map that the address, the body or `url` names; undefined where the request names none. Throws 400, 404. */
const namedMap = async (
  maps: MapFinder,
  { interaction, inputs, data }: Invocation,
): Promise<ConceptMap | undefined> => {
  const [url, version] = [inputs.get<string>('url'), inputs.get<string>('conceptMapVersion')]
  const sent = inputs.get<Json>('conceptMap')
  const named = url === undefined ? undefined : readCanonical(url)
  refuseContradiction('translate', ['conceptMapVersion', version], ['the version in url', named?.version])
  const literal = version === undefined ? literalId('ConceptMap', url) : undefined
  const id = interaction.id ?? literal
  if (id === undefined && sent === undefined) {
    if (named === undefined) {
      if (version !== undefined) throw InputMissing('translate', 'the url of the concept map of that version')
      return undefined
    }
    const name = joinVersion(named.url, named.version ?? version)
    const found = await maps.named(name)
    if (found === undefined) throw ConceptMapUnknown(name.slice(0, SHOWN))
    return found
  }
  const where = id === undefined ? 'the parameter conceptMap' : `ConceptMap/${id}`
  if (id !== undefined && sent !== undefined)
    refuseContradiction('translate', ['conceptMap', String(sent.url ?? '')], ['the address', where])
  const map = await (id === undefined
    ? readConceptMapInSlices(sent as Json)
    : parseConceptMap((await data.read('ConceptMap', id)).json))
  if (literal === undefined)
    refuseContradiction('translate', ['url', named?.url], [`the url of ${where}`, map.url ?? ''])
  refuseContradiction(
    'translate',
    ['conceptMapVersion', named?.version ?? version],
    [`the version of ${where}`, map.version ?? ''],
  )
  return map
}

const toProduct = ({ property, system, value, display }: OtherElement): Json => ({
  name: 'product',
  part: [
    { name: 'element', valueUri: property },
    {
      name: 'concept',
      valueCoding: { ...(system && { system }), code: value, ...(display && { display }) },
    },
  ],
})

const toMatch = ({ equivalence, concept, product, source }: Match): Json => ({
  name: 'match',
  part: [
    { name: 'equivalence', valueCode: equivalence },
    ...(concept === undefined ? [] : [{ name: 'concept', valueCoding: concept }]),
    ...product.map(toProduct),
    ...(source === undefined ? [] : [{ name: 'source', valueUri: source }]),
  ],
})

export const translateOperation = (maps: MapFinder): AnsweringOperation => ({
  code: 'translate',
  definition: 'http://hl7.org/fhir/OperationDefinition/ConceptMap-translate',
  documentation: 'The codes that concept maps map a code to.',
  levels: ['type', 'instance'],
  types: ['ConceptMap'],
  parameters: PARAMETERS,
  async answer(invocation) {
    const { inputs } = invocation
    const codings = codingsIn(inputs)
    const isReverse = inputs.get('reverse') === true
    const named = await namedMap(maps, invocation)
    const asked = { source: await namesIn(invocation, 'source'), target: await namesIn(invocation, 'target') }
    const sides = isReverse ? ({ from: 'target', to: 'source' } as const) : ({ from: 'source', to: 'target' } as const)
    const fits = (map: ConceptMap): boolean =>
      (asked.source === undefined || isOneOf(asked.source, map[sides.from])) &&
      (asked.target === undefined || isOneOf(asked.target, map[sides.to]))
    if (named !== undefined)
      for (const [name, side] of [
        ['source', sides.from],
        ['target', sides.to],
      ] as const)
        if (asked[name] !== undefined && named[side] !== undefined && !isOneOf(asked[name], named[side]))
          refuseContradiction('translate', [name, inputs.get(name)], [`the ${side} of the concept map`, named[side]])
    const dependencies = inputs
      .all<Inputs>('dependency')
      .map((one): Dependency => ({ element: one.get('element'), concept: one.get('concept') }))
    const matches = new Map<string, Match>()
    const hints = new Set<string>()
    for (const coding of codings) {
      const candidates =
        named === undefined ? (await maps.ofSystem({ system: coding.system, isReverse })).filter(fits) : [named]
      for (const map of candidates) {
        const found = await translate(map, coding, {
          targetSystem: inputs.get('targetsystem'),
          dependencies,
          isReverse,
          isNamed: named !== undefined,
          findMap: maps.named,
        })
        for (const one of found.matches) matches.set(JSON.stringify(one), one)
        for (const one of found.hints) hints.add(one)
      }
      if (candidates.length === 0)
        hints.add(`No concept map here maps codes of ${coding.system.slice(0, SHOWN)} as asked.`)
    }
    const all = [...matches.values()]
    const isTranslated = all.some(({ equivalence }) => !NOT_TRANSLATED.has(equivalence))
    if (all.length === 0 && hints.size === 0)
      hints.add(
        `There is no mapping of ${codings.map(({ system, code }) => `${system}|${code}`.slice(0, SHOWN)).join(', ')}.`,
      )
    return {
      resource: toParameters([
        { name: 'result', valueBoolean: isTranslated },
        hints.size === 0 ? undefined : { name: 'message', valueString: [...hints].join(' ') },
        ...all.map(toMatch),
      ]),
    }
  },
})

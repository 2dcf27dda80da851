/** $expand: the codes of a value set. https://hl7.org/fhir/R4/valueset-operation-expand.html */
import type { Clock } from '../../../kernel/index.ts'
import type { Operation } from '../../fhir/service.ts'
import { designationsOf, displayOf } from '../display.ts'
import { InputNegative } from '../errors.ts'
import type { ExpandedCode } from '../expanded-codes.ts'
import type { ExpansionService } from '../terminology.ts'
import { DISPLAY_LANGUAGE, valueSetOf } from './operation-inputs.ts'

const toText = (text: string): string => text.toLowerCase().normalize('NFKD').replace(/\p{M}/gu, '')

/** True when the code or a word of its display begins with the filter. */
const matches = (one: ExpandedCode, filter: string, language: string | undefined): boolean => {
  const { code } = one
  const display = displayOf(one, language) ?? ''
  const wanted = toText(filter)
  return ` ${toText(display)}`.includes(` ${wanted}`) || toText(code).startsWith(wanted)
}

type Json = Readonly<Record<string, unknown>>

interface Shown {
  readonly language: string | undefined
  readonly designations: boolean
  /** Codes with several versions, which are shown with their version. */
  readonly several: ReadonlySet<string>
}

const toContains = (one: ExpandedCode, { language, designations, several }: Shown): Json => {
  const { system, version, isPinned, code, isAbstract, isInactive } = one
  const display = displayOf(one, language)
  const others = designations ? designationsOf(one) : []
  const isVersionShown = version !== undefined && (isPinned || several.has(`${system}|${code}`))
  return {
    ...(system === '' ? {} : { system }),
    ...(isAbstract ? { abstract: true } : {}),
    ...(isInactive ? { inactive: true } : {}),
    ...(isVersionShown ? { version } : {}),
    code,
    ...(display === undefined ? {} : { display }),
    ...(others.length === 0 ? {} : { designation: others }),
  }
}

/** The code systems in use, with their versions. */
const versionsIn = (codes: readonly ExpandedCode[]): readonly Json[] => {
  const used = new Set(codes.flatMap(({ system, version }) => (version === undefined ? [] : [`${system}|${version}`])))
  return Array.from(used, (valueUri) => ({ name: 'version', valueUri }))
}

const severalIn = (codes: readonly ExpandedCode[]): ReadonlySet<string> => {
  const seen = new Set<string>()
  const several = new Set<string>()
  for (const { system, code } of codes) {
    const key = `${system}|${code}`
    if (seen.has(key)) several.add(key)
    seen.add(key)
  }
  return several
}

export const expandOperation = (terminology: ExpansionService, clock: Clock): Operation => ({
  code: 'expand',
  definition: 'http://hl7.org/fhir/OperationDefinition/ValueSet-expand',
  documentation: 'The codes of a value set, of the url, the address or the body.',
  levels: ['type', 'instance'],
  types: ['ValueSet'],
  parameters: [
    { name: 'url', type: 'uri', documentation: 'Canonical URL of the value set.' },
    { name: 'valueSetVersion', type: 'string', documentation: 'Its version.' },
    { name: 'valueSet', type: 'ValueSet', documentation: 'The value set itself.' },
    { name: 'filter', type: 'string', documentation: 'Only codes that begin so, or of which a word does.' },
    { name: 'offset', type: 'integer', documentation: 'How many codes to leave out at the beginning.' },
    { name: 'count', type: 'integer', documentation: 'How many codes to give at most; 0 for their number only.' },
    {
      name: 'activeOnly',
      type: 'boolean',
      documentation: 'Whether to leave out codes that are not to be used any more.',
    },
    { name: 'includeDesignations', type: 'boolean', documentation: 'Whether to give all designations of the codes.' },
    DISPLAY_LANGUAGE,
  ],
  async answer(invocation) {
    const { inputs } = invocation
    for (const page of ['offset', 'count']) {
      const given = inputs.get<number>(page) ?? 0
      if (given < 0) throw InputNegative(page, given)
    }
    const { name, resource, expand } = await valueSetOf(terminology, invocation, 'expand')
    const filter = inputs.get<string>('filter')
    const language = inputs.get<string>('displayLanguage')
    const [activeOnly, designations] = [inputs.get('activeOnly'), inputs.get('includeDesignations')]
    const whole = [...(await expand()).codes].filter(({ isUnknown }) => !isUnknown)
    const all = whole.filter(
      (one) => !(activeOnly === true && one.isInactive) && (filter === undefined || matches(one, filter, language)),
    )
    const offset = inputs.get<number>('offset') ?? 0
    const count = inputs.get<number>('count')
    const shown = all.slice(offset, count === undefined ? undefined : offset + count)
    const { url = name, version, name: title, status = 'active' } = resource ?? {}
    const parameter = [
      ...(filter === undefined ? [] : [{ name: 'filter', valueString: filter }]),
      ...(activeOnly === undefined ? [] : [{ name: 'activeOnly', valueBoolean: activeOnly }]),
      ...(designations === undefined ? [] : [{ name: 'includeDesignations', valueBoolean: designations }]),
      ...(language === undefined ? [] : [{ name: 'displayLanguage', valueCode: language }]),
      ...versionsIn(whole),
    ]
    const how: Shown = { language, designations: designations === true, several: severalIn(whole) }
    const isPage = inputs.get('offset') !== undefined || count !== undefined
    return {
      resource: {
        resourceType: 'ValueSet',
        url,
        ...(version === undefined ? {} : { version }),
        ...(title === undefined ? {} : { name: title }),
        status,
        expansion: {
          timestamp: new Date(clock.now()).toISOString(),
          total: all.length,
          ...(isPage ? { offset } : {}),
          ...(parameter.length === 0 ? {} : { parameter }),
          ...(shown.length === 0 ? {} : { contains: shown.map((one) => toContains(one, how)) }),
        },
      },
    }
  },
})

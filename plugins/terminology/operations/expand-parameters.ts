/** The parameters of $expand that choose what is shown. https://hl7.org/fhir/R4/valueset-operation-expand.html */
import type { Inputs, OperationParameter } from '../../fhir/service.ts'
import { type Canonical, readCanonical } from '../canonical.ts'
import type { Designation } from '../code-system.ts'
import { isOfLanguage } from '../display.ts'
import { InputMissing, InputNegative, InputsContradict, InputValue } from '../errors.ts'
import type { Json } from '../expansion-contract.ts'
import type { PageAsked } from '../expansion-page.ts'
import type { SystemVersions } from '../system-versions.ts'
import { DISPLAY_LANGUAGE } from './operation-inputs.ts'

const BCP_47 = 'urn:ietf:bcp:47'
const DIRECTIONS: ReadonlySet<unknown> = new Set(['incoming', 'outgoing', undefined])
const SHOWN = 200 // characters of what was sent

/** Those that the expansion repeats, with the member of their values. */
const REPEATED = {
  filter: 'valueString',
  date: 'valueDateTime',
  offset: undefined,
  count: undefined,
  activeOnly: 'valueBoolean',
  includeDesignations: 'valueBoolean',
  designation: 'valueString',
  includeDefinition: 'valueBoolean',
  excludeNested: 'valueBoolean',
  excludeNotForUI: 'valueBoolean',
  excludePostCoordinated: 'valueBoolean',
  displayLanguage: 'valueCode',
  'exclude-system': 'valueCanonical',
  'system-version': 'valueCanonical',
  'check-system-version': 'valueCanonical',
  'force-system-version': 'valueCanonical',
} as const

export const EXPAND_PARAMETERS: readonly OperationParameter[] = [
  {
    name: 'contextDirection',
    type: 'code',
    documentation: 'incoming or outgoing; an element has one binding for both.',
  },
  {
    name: 'filter',
    type: 'string',
    documentation: 'Only codes that begin so, or in whose display each word of it begins a word.',
  },
  { name: 'offset', type: 'integer', documentation: 'How many codes to leave out at the beginning.' },
  { name: 'count', type: 'integer', documentation: 'How many codes to give at most; 0 for their number only.' },
  {
    name: 'activeOnly',
    type: 'boolean',
    documentation: 'Whether to leave out codes that are not to be used any more.',
  },
  { name: 'includeDesignations', type: 'boolean', documentation: 'Whether to give all designations of the codes.' },
  {
    name: 'designation',
    type: 'string',
    max: '*',
    documentation: 'Which designations to give: [system]|[code] of a use, or urn:ietf:bcp:47|[language].',
  },
  { name: 'includeDefinition', type: 'boolean', documentation: 'Whether to give the definition of the value set.' },
  {
    name: 'excludeNested',
    type: 'boolean',
    documentation:
      'False: codes stand below those that are above them in their code system, unless a page is asked for.',
  },
  { name: 'excludeNotForUI', type: 'boolean', documentation: 'Whether to leave out codes that only group others.' },
  { name: 'excludePostCoordinated', type: 'boolean', documentation: 'Without effect: there are no such codes.' },
  {
    name: 'exclude-system',
    type: 'canonical',
    max: '*',
    documentation: 'A code system, or a version of it, to leave out.',
  },
  {
    name: 'system-version',
    type: 'canonical',
    max: '*',
    documentation: '[system]|[version]: the version to use where the value set names none.',
  },
  {
    name: 'check-system-version',
    type: 'canonical',
    max: '*',
    documentation: 'The same, and a value set that names another version is 400.',
  },
  {
    name: 'force-system-version',
    type: 'canonical',
    max: '*',
    documentation: 'The version to use whatever the value set names.',
  },
  DISPLAY_LANGUAGE,
]

/** Throws 400 for a canonical without a version, and for two versions of one code system. */
const versionsIn = (inputs: Inputs, name: string): ReadonlyMap<string, string> => {
  const found = new Map<string, string>()
  for (const text of inputs.all<string>(name)) {
    const { url, version } = readCanonical(text)
    if (version === undefined || version === '' || url === '')
      throw InputValue('expand', name, text.slice(0, SHOWN), 'write [system]|[version]')
    const before = found.get(url)
    if (before !== undefined && before !== version)
      throw InputsContradict('expand', name, text.slice(0, SHOWN), name, `${url}|${before}`.slice(0, SHOWN))
    found.set(url, version)
  }
  return found
}

type ShowsDesignation = (designation: Designation) => boolean

/** Throws 400 for a token without a system. */
const designationsIn = (inputs: Inputs): ShowsDesignation | undefined => {
  const includes = inputs.get<boolean>('includeDesignations')
  const tokens = inputs.all<string>('designation').map((text) => {
    const bar = text.indexOf('|')
    if (bar < 1)
      throw InputValue('expand', 'designation', text.slice(0, SHOWN), `write ${BCP_47}|de, or [system]|[code] of a use`)
    return { system: text.slice(0, bar), code: text.slice(bar + 1) }
  })
  if (includes === false || (includes === undefined && tokens.length === 0)) return undefined
  if (tokens.length === 0) return () => true
  return ({ language, use }) =>
    tokens.some(({ system, code }) =>
      system === BCP_47 ? isOfLanguage(language, code) : use?.system === system && use.code === code,
    )
}

export interface ExpandAsked {
  readonly versions: SystemVersions
  /** Undefined where no designations are shown. */
  readonly shows: ShowsDesignation | undefined
  /** Codes that other parameters than `filter` leave out. */
  readonly without: NonNullable<PageAsked['without']>
  readonly offset: number
  readonly count: number | undefined
  readonly isPage: boolean
  readonly isNested: boolean
  /** Parameters of the expansion that repeat those of the request. */
  readonly repeated: readonly Json[]
}

/** Throws 400 for values that a parameter does not take. */
export const readExpandParameters = (inputs: Inputs): ExpandAsked => {
  for (const page of ['offset', 'count']) {
    const given = inputs.get<number>(page) ?? 0
    if (given < 0) throw InputNegative(page, given)
  }
  const direction = inputs.get<string>('contextDirection')
  if (!DIRECTIONS.has(direction))
    throw InputValue('expand', 'contextDirection', String(direction).slice(0, SHOWN), 'it takes incoming and outgoing')
  if (direction !== undefined && inputs.get('context') === undefined)
    throw InputMissing('expand', 'the context that contextDirection is about')
  const excluded: readonly Canonical[] = inputs.all<string>('exclude-system').map(readCanonical)
  const [activeOnly, notForUi] = [inputs.get('activeOnly') === true, inputs.get('excludeNotForUI') === true]
  const isPage = inputs.get('offset') !== undefined || inputs.get('count') !== undefined
  return {
    versions: {
      preferred: versionsIn(inputs, 'system-version'),
      required: versionsIn(inputs, 'check-system-version'),
      forced: versionsIn(inputs, 'force-system-version'),
    },
    shows: designationsIn(inputs),
    without: {
      ...{ inactive: activeOnly, abstract: notForUi },
      system: (system, own) =>
        excluded.some(({ url, version }) => url === system && (version === undefined || version === own)),
    },
    offset: inputs.get<number>('offset') ?? 0,
    count: inputs.get<number>('count'),
    isPage,
    isNested: inputs.get('excludeNested') === false && !isPage,
    repeated: Object.entries(REPEATED).flatMap(([name, member]) =>
      member === undefined ? [] : inputs.all(name).map((value) => ({ name, [member]: value })),
    ),
  }
}

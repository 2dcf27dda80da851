/** $expand: the codes of a value set. https://hl7.org/fhir/R4/valueset-operation-expand.html */
import type { Clock } from '../../../kernel/index.ts'
import type { Operation } from '../../fhir/service.ts'
import { designationsOf, displayOf } from '../display.ts'
import type { ExpandedCode } from '../expanded-codes.ts'
import type { Json } from '../expansion-contract.ts'
import type { ExpansionService } from '../terminology.ts'
import { EXPAND_PARAMETERS, type ExpandAsked, readExpandParameters } from './expand-parameters.ts'
import { type Nested, nest } from './nest.ts'
import { VALUE_SET_PARAMETERS, valueSetOf } from './requested-value-set.ts'

/** Marks an expansion that does not have all codes of the value set. */
const UNCLOSED = 'http://hl7.org/fhir/StructureDefinition/valueset-unclosed'
/** Elements of a value set that say what it is made of; others say which one it is. */
const DEFINING: ReadonlySet<string> = new Set([
  ...['compose', 'immutable', 'text', 'contained', 'extension', 'modifierExtension', 'meta', 'id', 'implicitRules'],
])

const toText = (text: string): string => text.toLowerCase().normalize('NFKD').replace(/\p{M}/gu, '')

/**
 * True when the code begins with the filter, or each word of the filter begins a word of the display, in any order:
 * "acut ast" finds "Acute asthma". https://hl7.org/fhir/R4/valueset-operation-expand.html
 */
const matching = (filter: string, language: string | undefined): ((one: ExpandedCode) => boolean) => {
  const wanted = toText(filter).trim()
  const words = wanted.split(/\s+/).map((word) => ` ${word}`)
  return (one) => {
    const display = ` ${toText(displayOf(one, language) ?? '')}`
    return words.every((word) => display.includes(word)) || toText(one.code).startsWith(wanted)
  }
}

interface Shown {
  readonly language: string | undefined
  readonly shows: ExpandAsked['shows']
  /** Codes with several versions, which are shown with their version. */
  readonly several: ReadonlySet<string>
}

const toContains = ({ one, below }: Nested, how: Shown): Json => {
  const { system, version, isPinned, code, isAbstract, isInactive } = one
  const { language, shows, several } = how
  const display = displayOf(one, language)
  const others = shows === undefined ? [] : designationsOf(one).filter(shows)
  const isVersionShown = version !== undefined && (isPinned || several.has(`${system}|${code}`))
  return {
    ...(system === '' ? {} : { system }),
    ...(isAbstract ? { abstract: true } : {}),
    ...(isInactive ? { inactive: true } : {}),
    ...(isVersionShown ? { version } : {}),
    code,
    ...(display === undefined ? {} : { display }),
    ...(others.length === 0 ? {} : { designation: others }),
    ...(below.length === 0 ? {} : { contains: below.map((each) => toContains(each, how)) }),
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

/** What the answer has of the value set itself. */
const describe = (resource: Json, name: string, withDefinition: boolean): Json => {
  const { resourceType: _type, expansion: _brought, url = name, status = 'active', ...other } = resource
  const kept = Object.entries(other).filter(([member]) => withDefinition || !DEFINING.has(member))
  return { url, status, ...Object.fromEntries(kept) }
}

export const expandOperation = (terminology: ExpansionService, clock: Clock): Operation => ({
  code: 'expand',
  definition: 'http://hl7.org/fhir/OperationDefinition/ValueSet-expand',
  documentation: 'The codes of a value set, of the url, the address or the body.',
  levels: ['type', 'instance'],
  types: ['ValueSet'],
  parameters: [...VALUE_SET_PARAMETERS, ...EXPAND_PARAMETERS],
  async answer(invocation) {
    const { inputs } = invocation
    const asked = readExpandParameters(inputs)
    const { versions, isExcluded, offset, count, isPage, isNested, shows, repeated } = asked
    const { name, expand } = await valueSetOf(terminology, invocation, 'expand')
    const filter = inputs.get<string>('filter')
    const language = inputs.get<string>('displayLanguage')
    const { resource, expansion } = await expand(versions)
    const whole = [...expansion.codes].filter(({ isUnknown }) => !isUnknown)
    const matches = filter === undefined ? undefined : matching(filter, language)
    const all = whole.filter((one) => !isExcluded(one) && (matches === undefined || matches(one)))
    const shown = all.slice(offset, count === undefined ? undefined : offset + count)
    const parameter = [...repeated, ...versionsIn(whole)]
    const how: Shown = { language, shows, several: severalIn(whole) }
    const contains = isNested ? nest(shown) : shown.map((one): Nested => ({ one, below: [] }))
    return {
      resource: {
        resourceType: 'ValueSet',
        ...describe(resource, name, inputs.get('includeDefinition') === true),
        expansion: {
          ...(expansion.open.size === 0 ? {} : { extension: [{ url: UNCLOSED, valueBoolean: true }] }),
          timestamp: new Date(clock.now()).toISOString(),
          total: all.length,
          ...(isPage ? { offset } : {}),
          ...(parameter.length === 0 ? {} : { parameter }),
          ...(contains.length === 0 ? {} : { contains: contains.map((one) => toContains(one, how)) }),
        },
      },
    }
  },
})

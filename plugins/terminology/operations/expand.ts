/** $expand: the codes of a value set. https://hl7.org/fhir/R4/valueset-operation-expand.html */
import type { Clock } from '../../../kernel/index.ts'
import type { AnsweringOperation } from '../../fhir/service.ts'
import { designationsOf, displayOf } from '../display.ts'
import { NotExpandable } from '../errors.ts'
import type { Json } from '../expansion-contract.ts'
import type { ExpansionPage } from '../expansion-page.ts'
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

interface Shown {
  readonly language: string | undefined
  readonly shows: ExpandAsked['shows']
  /** Whether a code has several versions: it is shown with its version. */
  readonly isSeveral: ExpansionPage['isSeveral']
}

const toContains = ({ one, below }: Nested, how: Shown): Json => {
  const { system, version, isPinned, code, isAbstract, isInactive } = one
  const { language, shows, isSeveral } = how
  const display = displayOf(one, language)
  const others = shows === undefined ? [] : designationsOf(one).filter(shows)
  const isVersionShown = version !== undefined && (isPinned || isSeveral(one))
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

/** What the answer has of the value set itself. */
const describe = (resource: Json, name: string, withDefinition: boolean): Json => {
  const { resourceType: _type, expansion: _brought, url = name, status = 'active', ...other } = resource
  const kept = Object.entries(other).filter(([member]) => withDefinition || !DEFINING.has(member))
  return { url, status, ...Object.fromEntries(kept) }
}

export const expandOperation = (terminology: ExpansionService, clock: Clock): AnsweringOperation => ({
  code: 'expand',
  definition: 'http://hl7.org/fhir/OperationDefinition/ValueSet-expand',
  documentation: 'The codes of a value set, of the url, the address or the body.',
  levels: ['type', 'instance'],
  types: ['ValueSet'],
  parameters: [...VALUE_SET_PARAMETERS, ...EXPAND_PARAMETERS],
  async answer(invocation) {
    const { inputs } = invocation
    const asked = readExpandParameters(inputs)
    const { versions, without, offset, count, isPage, isNested, shows, repeated } = asked
    const { name, expand } = await valueSetOf(terminology, invocation, 'expand')
    const filter = inputs.get<string>('filter')
    const language = inputs.get<string>('displayLanguage')
    const { resource, expansion } = await expand(versions)
    for (const system of expansion.open.keys())
      if ((await terminology.source(system))?.size === 0)
        throw NotExpandable(name.slice(0, 200), `the codes of ${system} are built by rules, and cannot be listed`)
    const page = await expansion.page({ name, filter, language, without, offset, count })
    const used = page.versions.map(({ system, version }) => ({ name: 'version', valueUri: `${system}|${version}` }))
    const parameter = [...repeated, ...used]
    const how: Shown = { language, shows, isSeveral: page.isSeveral }
    const contains = isNested ? await nest(page.codes) : page.codes.map((one): Nested => ({ one, below: [] }))
    return {
      resource: {
        resourceType: 'ValueSet',
        ...describe(resource, name, inputs.get('includeDefinition') === true),
        expansion: {
          ...(expansion.open.size === 0 ? {} : { extension: [{ url: UNCLOSED, valueBoolean: true }] }),
          timestamp: new Date(clock.now()).toISOString(),
          total: page.total,
          ...(isPage ? { offset } : {}),
          ...(parameter.length === 0 ? {} : { parameter }),
          ...(contains.length === 0 ? {} : { contains: contains.map((one) => toContains(one, how)) }),
        },
      },
    }
  },
})

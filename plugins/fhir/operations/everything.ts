/**
 * $everything: a Patient or Encounter, its compartment, and the resources that those refer to, page by page.
 * https://hl7.org/fhir/R4/patient-operation-everything.html,
 * https://hl7.org/fhir/R4/encounter-operation-everything.html
 */

import type { Clock, Random } from '../../../kernel/index.ts'
import { type TypeCatalog, typeOf } from '../../model/service.ts'
import { type CompartmentQuery, QueryParameterValue } from '../../search/service.ts'
import { readVisible } from '../interactions/read-seen.ts'
import type { PrepareVersions } from '../large/prepare-versions.ts'
import { toSearchset } from '../search/searchset.ts'
import type { BuiltInInvocation, BuiltInOperation } from './built-in.ts'
import type { OperationAnswer } from './operation.ts'
import type { OperationParameter } from './operation-parameter.ts'

export interface EverythingParts {
  readonly catalog: Pick<TypeCatalog, 'types'>
  readonly clock: Clock
  readonly random: Random
  /** The largest number of entries on a page. */
  readonly page: { readonly max: number }
  readonly prepareVersions: PrepareVersions
}

type EverythingParameters = Pick<CompartmentQuery, 'start' | 'end' | 'since' | 'types' | 'count' | 'page'>

const readEverythingParameters = (parts: EverythingParts, { inputs }: BuiltInInvocation): EverythingParameters => {
  const count = inputs.get<number>('_count')
  if (count !== undefined && count < 1) throw QueryParameterValue('_count', 'a positive integer')
  const types = inputs
    .all<string>('_type')
    .flatMap((list) => list.split(','))
    .map((one) => typeOf(parts, one.trim(), false).name)
  return {
    start: inputs.get('start'),
    end: inputs.get('end'),
    since: inputs.get('_since'),
    types: types.length === 0 ? undefined : [...new Set(types)],
    // R4 returns everything at once unless the client requests pages. Here the size of a page is limited all the same.
    count: Math.min(count ?? parts.page.max, parts.page.max),
    page: inputs.get('_page'),
  }
}

const linkOf = ({ request, interaction, inputs }: BuiltInInvocation, count: number): string => {
  const { type, id } = interaction
  const parameters = new URLSearchParams()
  for (const name of ['start', 'end', '_since', '_type'])
    for (const value of inputs.all<string>(name)) parameters.append(name, value)
  parameters.set('_count', String(count))
  return `${request.baseUrl}/${type}${id === undefined ? '' : `/${id}`}/$everything?${parameters}`
}

const answer = async (parts: EverythingParts, invocation: BuiltInInvocation): Promise<OperationAnswer> => {
  const { view, request, ruling, interaction } = invocation
  const { clock, random, catalog, prepareVersions } = parts
  const { type = '', id } = interaction
  const wanted = readEverythingParameters(parts, invocation)
  const focus = id === undefined ? undefined : await readVisible(view, request, ruling, type, id)
  const address = linkOf(invocation, wanted.count)
  const { matches, included, next } = await view.search.compartment({
    ...wanted,
    context: request,
    ruling,
    root: { type, id },
    focus,
    address,
  })

  const links = [{ relation: 'self', url: address }]
  if (next !== undefined) links.push({ relation: 'next', url: `${address}&_page=${next}` })
  // The focus is audited even when `_type` leaves it out of the answer, because the answer is about its record.
  invocation.shown(focus === undefined ? [...matches, ...included] : [focus, ...matches, ...included])
  const presentation = { pretty: false }
  await prepareVersions(view, request, [...matches, ...included], presentation)
  const json = toSearchset({
    id: random.id(),
    lastUpdated: new Date(clock.now()).toISOString(),
    baseUrl: request.baseUrl,
    total: undefined,
    links,
    entries: [
      ...matches.map((version) => ({ version, mode: 'match' as const })),
      ...included.map((version) => ({ version, mode: 'include' as const })),
    ],
    issues: [],
    presentation,
    types: catalog.types,
  })
  return { json }
}

const PARAMETERS: readonly OperationParameter[] = [
  { name: '_since', type: 'instant', documentation: 'Only resources that were changed at that moment or after it.' },
  { name: '_type', type: 'string', max: '*', documentation: 'Only resources of these types, separated by commas.' },
  {
    name: '_count',
    type: 'integer',
    documentation: 'Most resources of the compartment on a page. What they refer to follows, at most 1,000 on a page.',
  },
  { name: '_page', type: 'string', documentation: 'Where a page goes on: part of a next link.' },
]

/** `parts` returns the parts once the server has started. */
export const everythingOperations = (parts: () => EverythingParts): readonly BuiltInOperation[] => [
  {
    code: 'everything',
    definition: 'http://hl7.org/fhir/OperationDefinition/Patient-everything',
    documentation: 'The record of a patient, or of all patients: the compartment and what it refers to.',
    levels: ['type', 'instance'],
    types: ['Patient'],
    parameters: [
      { name: 'start', type: 'date', documentation: 'Only care given on that day or later.' },
      { name: 'end', type: 'date', documentation: 'Only care given on that day or earlier.' },
      ...PARAMETERS,
    ],
    answer: (invocation) => answer(parts(), invocation),
  },
  {
    code: 'everything',
    definition: 'http://hl7.org/fhir/OperationDefinition/Encounter-everything',
    documentation: 'An encounter, its compartment, and what they refer to.',
    levels: ['instance'],
    types: ['Encounter'],
    parameters: PARAMETERS,
    answer: (invocation) => answer(parts(), invocation),
  },
]

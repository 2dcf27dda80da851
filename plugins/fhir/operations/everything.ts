/**
 * $everything: a Patient or Encounter, what is in its compartment, and what those refer to, page by page.
 * https://hl7.org/fhir/R4/patient-operation-everything.html, https://hl7.org/fhir/R4/encounter-operation-everything.html
 */

import { readSpan, typeOf } from '../../model/service.ts'
import type { Asking } from '../../search/service.ts'
import {
  type Access,
  MOST_INCLUDED,
  OPEN,
  openPage,
  type PagePosition,
  ParameterValue,
  sealPage,
  toAccess,
} from '../../search/service.ts'
import type { StoredVersion } from '../../storage/service.ts'
import { prepareVersions } from '../large/prepare-versions.ts'
import type { OwnInvocation } from '../parts.ts'
import { toSearchSet } from '../search/searchset.ts'
import { readSeen } from './data.ts'
import type { OperationAnswer } from './operation.ts'
import type { OperationParameter } from './operation-parameter.ts'
import type { OwnOperation } from './own.ts'
import { planRecord, type RecordQuery } from './record.ts'

interface Wanted extends RecordQuery {
  readonly count: number
  readonly page: string | undefined
}

const readWanted = ({ server, inputs }: OwnInvocation): Wanted => {
  const count = inputs.get<number>('_count')
  if (count !== undefined && count < 1) throw ParameterValue('_count', 'a positive integer')
  const types = inputs
    .all<string>('_type')
    .flatMap((list) => list.split(','))
    .map((one) => typeOf(server, one.trim()).name)
  return {
    start: inputs.get('start'),
    end: inputs.get('end'),
    since: inputs.get('_since'),
    types: types.length === 0 ? undefined : [...new Set(types)],
    // R4: all of it at once, unless pages are asked for. What a page may hold is bounded all the same.
    count: Math.min(count ?? server.page.most, server.page.most),
    page: inputs.get('_page'),
  }
}

const isWanted = ({ types, since }: Wanted, { type, stamp }: StoredVersion): boolean => {
  const from = since === undefined ? undefined : readSpan(since)?.from
  return types?.includes(type) !== false && (from === undefined || stamp >= from)
}

const linkOf = ({ request, interaction, inputs }: OwnInvocation, count: number): string => {
  const { type, id } = interaction
  const parameters = new URLSearchParams()
  for (const name of ['start', 'end', '_since', '_type'])
    for (const value of inputs.all<string>(name)) parameters.append(name, value)
  parameters.set('_count', String(count))
  return `${request.baseUrl}/${type}${id === undefined ? '' : `/${id}`}/$everything?${parameters}`
}

/** A position among what the compartment refers to, as the keys of a page token; the compartment itself has none. */
const REFERRED: readonly string[] = ['referred']
const isReferred = ({ keys }: PagePosition): boolean => keys.length > 0

interface Page {
  readonly matches: readonly StoredVersion[]
  readonly included: readonly StoredVersion[]
  /** Where the next page begins; undefined behind the last one. */
  readonly next: PagePosition | undefined
}

/** The resource it is about and its compartment; then, on the page where they end, what they refer to. */
const readPage = async (
  invocation: OwnInvocation,
  wanted: Wanted,
  focus: StoredVersion | undefined,
  position: PagePosition,
  access: Access,
  asking: Asking,
): Promise<Page> => {
  const { server, request } = invocation
  const { executor, referred } = server.search
  const { pin } = position
  const { shown, followed, targets } = await planRecord(invocation, wanted, access, asking)
  const matches: StoredVersion[] = []
  if (!isReferred(position)) {
    if (wanted.page === undefined && focus !== undefined && isWanted(wanted, focus)) matches.push(focus)
    const room = wanted.count - matches.length
    const found = shown.length === 0 ? [] : await executor.page(shown, position, [], room + 1, request)
    for (const { version } of found.slice(0, room)) matches.push(version)
    if (found.length > room)
      return { matches, included: [], next: { pin, rid: found[room - 1]?.version.rid ?? position.rid, keys: [] } }
  }
  const rids = await referred(
    {
      plans: followed,
      rids: focus === undefined ? [] : [focus.rid],
      targets,
      position: isReferred(position) ? position : { pin, rid: Number.MAX_SAFE_INTEGER },
      limit: MOST_INCLUDED + 1,
      ownUrl: request.ownUrl,
    },
    request,
  )
  const page = rids.slice(0, MOST_INCLUDED)
  const last = rids.length > MOST_INCLUDED ? page.at(-1) : undefined
  return {
    matches,
    included: await executor.versions(page, request),
    next: last === undefined ? undefined : { pin, rid: last, keys: REFERRED },
  }
}

const answer = async (invocation: OwnInvocation): Promise<OperationAnswer> => {
  const { server, request, ruling, interaction } = invocation
  const { search, clock, catalog } = server
  const { type: root = '', id } = interaction
  const wanted = readWanted(invocation)
  const base = { ownUrl: request.ownUrl, now: clock.now(), pin: await search.pin() }
  const access = ruling.restrictions.length === 0 ? OPEN : toAccess(ruling, search.criteria, base)
  const asking: Asking = { ...base, allowed: (type) => access.conditions(type, 's') }
  const focus = id === undefined ? undefined : await readSeen(server, request, ruling, root, id)
  const link = linkOf(invocation, wanted.count)
  const position =
    wanted.page === undefined
      ? { pin: base.pin, rid: Number.MAX_SAFE_INTEGER, keys: [] }
      : openPage(search.registry.key, clock, request.caller, link, wanted.page)
  const { matches, included, next } = await readPage(invocation, wanted, focus, position, access, asking)

  const links = [{ relation: 'self', url: link }]
  if (next !== undefined) {
    const page = sealPage(search.registry.key, clock, request.caller, link, next)
    links.push({ relation: 'next', url: `${link}&_page=${page}` })
  }
  // It is about the record of the focus, also where `_type` leaves the focus itself out.
  invocation.shown(focus === undefined ? [...matches, ...included] : [focus, ...matches, ...included])
  const presentation = { pretty: false }
  await prepareVersions(server, request, [...matches, ...included], presentation)
  const json = toSearchSet({
    id: server.random.id(),
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

export const everythingOperations: readonly OwnOperation[] = [
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
    answer,
  },
  {
    code: 'everything',
    definition: 'http://hl7.org/fhir/OperationDefinition/Encounter-everything',
    documentation: 'An encounter, its compartment, and what they refer to.',
    levels: ['instance'],
    types: ['Encounter'],
    parameters: PARAMETERS,
    answer,
  },
]

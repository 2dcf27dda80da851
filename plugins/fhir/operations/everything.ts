/**
 * $everything: a Patient or Encounter, what is in its compartment, and what those refer to, page by page.
 * https://hl7.org/fhir/R4/patient-operation-everything.html, https://hl7.org/fhir/R4/encounter-operation-everything.html
 */
import { ParameterValue } from '../errors.ts'
import { readSpan } from '../instant.ts'
import { type Access, OPEN, toAccess } from '../search/access.ts'
import type { Asking } from '../search/asking.ts'
import { toSearchSet } from '../search/bundle.ts'
import { anyCondition, type Condition } from '../search/condition.ts'
import { MOST_INCLUDED } from '../search/include.ts'
import { openPage, sealPage } from '../search/page-token.ts'
import type { Plan } from '../search/plan.ts'
import { typeOf } from '../server.ts'
import type { StoredVersion } from '../store/version.ts'
import { readSeen } from './data.ts'
import type { OperationAnswer, OperationParameter } from './operation.ts'
import type { OwnInvocation, OwnOperation } from './own.ts'

const EVERY_REFERENCE = { text: '_include=*', source: '*', parameter: '*', target: undefined, iterate: false }

/** The search parameter of a type that tells when care was given: the first of these it has. */
const CARE_DATES = [
  'date',
  'onset-date',
  'authoredon',
  'authored',
  'occurrence',
  'period',
  'effective-time',
  'started',
  'sent',
  'created',
  'recorded-date',
  'issued',
]

interface Wanted {
  readonly start: string | undefined
  readonly end: string | undefined
  readonly since: string | undefined
  readonly types: readonly string[] | undefined
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

const linkOf = ({ request, interaction, inputs }: OwnInvocation, count: number): string => {
  const { type, id } = interaction
  const parameters = new URLSearchParams()
  for (const name of ['start', 'end', '_since', '_type'])
    for (const value of inputs.all<string>(name)) parameters.append(name, value)
  parameters.set('_count', String(count))
  return `${request.baseUrl}/${type}${id === undefined ? '' : `/${id}`}/$everything?${parameters}`
}

/** Dates of care within a range, or none at all: what has no date cannot be told to lie outside. */
const careConditions = async (
  { server }: OwnInvocation,
  type: string,
  { start, end }: Wanted,
  asking: Asking,
): Promise<readonly Condition[]> => {
  const { registry, criteria } = server.search
  const parameters = registry.parameters(type)
  const code = CARE_DATES.find((one) => parameters.get(one)?.type === 'date')
  const bounds = [...(start === undefined ? [] : [`ge${start}`]), ...(end === undefined ? [] : [`le${end}`])]
  if (code === undefined || bounds.length === 0) return []
  const undated = await criteria.toCondition(type, `${code}:missing`, 'true', asking)
  const made: Condition[] = []
  for (const bound of bounds) {
    const dated = await criteria.toCondition(type, code, bound, asking)
    made.push(anyCondition({ text: `${code}=${bound}`, understood: `${code} ${bound}, or none` }, [dated, undated]))
  }
  return made
}

/** In the compartment of one resource, or of any of its type; undefined when the type never is. */
const insideConditions = async (
  { server, request, interaction }: OwnInvocation,
  type: string,
  asking: Asking,
): Promise<Condition | undefined> => {
  const { criteria, registry } = server.search
  const { type: root = '', id } = interaction
  if (id !== undefined) return criteria.inCompartment(type, { type: root, id }, request.baseUrl)
  const parameters = registry.parameters(type)
  const codes = (registry.compartments[root]?.[type] ?? []).filter((code) => parameters.get(code)?.type === 'reference')
  const conditions: Condition[] = []
  for (const code of codes) conditions.push(await criteria.toCondition(type, `${code}:missing`, 'false', asking))
  const [only] = conditions
  const named = { text: `compartment ${root}`, understood: `in the compartment of any ${root}` }
  return conditions.length > 1 ? anyCondition(named, conditions) : only
}

const plansOf = async (
  invocation: OwnInvocation,
  wanted: Wanted,
  access: Access,
  asking: Asking,
): Promise<readonly Plan[]> => {
  const { server, interaction } = invocation
  const { search, store } = server
  const { type: root = '', id } = interaction
  const members = search.registry.compartments[root] ?? {}
  const plans: Plan[] = []
  for (const type of await search.usedTypes()) {
    // The one it is about is shown first.
    if (type === root ? id !== undefined : members[type] === undefined) continue
    if (wanted.types?.includes(type) === false) continue
    const seen = await access.conditions(type)
    if (seen === undefined) continue
    const inside = type === root ? [] : [await insideConditions(invocation, type, asking)]
    if (inside.includes(undefined)) continue
    const since =
      wanted.since === undefined
        ? []
        : [await search.criteria.toCondition(type, '_lastUpdated', `ge${wanted.since}`, asking)]
    const dated = type === root ? [] : await careConditions(invocation, type, wanted, asking)
    const conditions = [...(inside as Condition[]), ...dated, ...since, ...seen]
    plans.push(await search.planner(store.types.code(type) ?? 0, conditions))
  }
  return plans
}

const answer = async (invocation: OwnInvocation): Promise<OperationAnswer> => {
  const { server, request, ruling, interaction } = invocation
  const { search, clock, catalog } = server
  const { type: root = '', id } = interaction
  const wanted = readWanted(invocation)
  const since = wanted.since === undefined ? undefined : readSpan(wanted.since)?.from
  const isWanted = (version: StoredVersion): boolean =>
    wanted.types?.includes(version.type) !== false && (since === undefined || version.stamp >= since)

  const base = { baseUrl: request.baseUrl, now: clock.now(), pin: await search.pin() }
  const access = ruling.restrictions.length === 0 ? OPEN : toAccess(ruling, search.criteria, base)
  const asking: Asking = { ...base, allowed: access.conditions }
  const focus = id === undefined ? undefined : await readSeen(server, request, ruling, root, id)
  const link = linkOf(invocation, wanted.count)
  const position =
    wanted.page === undefined
      ? { pin: base.pin, rid: Number.MAX_SAFE_INTEGER, keys: [] }
      : openPage(search.registry.key, clock, request.caller, link, wanted.page)
  const first = wanted.page === undefined && focus !== undefined && isWanted(focus) ? [focus] : []

  const plans = await plansOf(invocation, wanted, access, asking)
  const room = wanted.count - first.length
  const found = plans.length === 0 ? [] : await search.executor.page(plans, position, [], room + 1, request)
  const shown = [...first, ...found.slice(0, room).map(({ version }) => version)]
  const included = await search.includer.include(
    { includes: [EVERY_REFERENCE], revincludes: [] },
    [...shown, ...(focus === undefined ? [] : [focus])].map(({ rid, type }) => ({ rid, type })),
    access,
    [...catalog.types.keys()],
    request,
  )
  // Somebody else's record is no part of this one, even where it is pointed at.
  const others = included.versions.filter((version) => isWanted(version) && version.type !== 'Patient')
  const related = root === 'Patient' ? others : included.versions.filter(isWanted)

  const links = [{ relation: 'self', url: link }]
  if (found.length > room) {
    const last = found[room - 1]?.version
    const next = { pin: position.pin, rid: last?.rid ?? position.rid, keys: [] }
    const page = sealPage(search.registry.key, clock, request.caller, link, next)
    links.push({ relation: 'next', url: `${link}&_page=${page}` })
  }
  invocation.shown([...shown, ...related])
  const json = toSearchSet({
    id: server.random.id(),
    lastUpdated: new Date(clock.now()).toISOString(),
    baseUrl: request.baseUrl,
    total: undefined,
    links,
    entries: [
      ...shown.map((version) => ({ version, mode: 'match' as const })),
      ...related.map((version) => ({ version, mode: 'include' as const })),
    ],
    issues: included.cut
      ? [
          {
            severity: 'warning',
            code: 'too-costly',
            diagnostics: `What is on this page refers to more than ${MOST_INCLUDED} others, which are left out; a smaller _count shows them.`,
          },
        ]
      : [],
    presentation: { pretty: false },
    types: catalog.types,
  })
  return { json }
}

const PARAMETERS: readonly OperationParameter[] = [
  { name: '_since', type: 'instant', documentation: 'Only what was changed at that moment or after it.' },
  { name: '_type', type: 'string', max: '*', documentation: 'Only these types, separated by commas.' },
  { name: '_count', type: 'integer', documentation: 'Most resources of a page, besides those they refer to.' },
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

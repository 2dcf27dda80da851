/**
 * The record that $everything answers with, as searches: the compartment of one resource, or of all of its type, and what
 * those refer to. https://hl7.org/fhir/R4/patient-operation-everything.html
 */
import type { Access, Asking, Plan, ReferredTarget as Target } from '../../search/service.ts'
import { anyCondition, type Condition, notCondition } from '../../search/service.ts'
import type { OwnInvocation } from '../parts.ts'

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

export interface RecordQuery {
  readonly start: string | undefined
  readonly end: string | undefined
  readonly since: string | undefined
  readonly types: readonly string[] | undefined
}

export interface RecordPlans {
  /** What is answered of the compartment. */
  readonly shown: readonly Plan[]
  /** Whose references are followed: also what `_type` and `_since` leave out of the answer. */
  readonly followed: readonly Plan[]
  /** What may be answered beside the compartment, by type. */
  readonly targets: readonly Target[]
}

/** Dates of care within a range, or none at all: what has no date cannot be told to lie outside. */
const careConditions = async (
  { server }: OwnInvocation,
  type: string,
  { start, end }: RecordQuery,
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
  if (id !== undefined) return criteria.inCompartment(type, { type: root, id }, request.ownUrl)
  const parameters = registry.parameters(type)
  const codes = (registry.compartments[root]?.[type] ?? []).filter((code) => parameters.get(code)?.type === 'reference')
  const conditions: Condition[] = []
  for (const code of codes) conditions.push(await criteria.toCondition(type, `${code}:missing`, 'false', asking))
  const [only] = conditions
  const named = { text: `compartment ${root}`, understood: `in the compartment of any ${root}` }
  return conditions.length > 1 ? anyCondition(named, conditions) : only
}

const outside = (inside: Condition | undefined): readonly Condition[] =>
  inside === undefined
    ? []
    : [notCondition({ text: `not in the ${inside.text}`, understood: `not ${inside.understood}` }, inside)]

/** Only what `access` lets be seen is answered, and only that is followed. */
export const planRecord = async (
  invocation: OwnInvocation,
  query: RecordQuery,
  access: Access,
  asking: Asking,
): Promise<RecordPlans> => {
  const { server, interaction } = invocation
  const { search, store } = server
  const { type: root = '', id } = interaction
  const members = search.registry.compartments[root] ?? {}
  const shown: Plan[] = []
  const followed: Plan[] = []
  const targets: Target[] = []
  for (const type of await search.usedTypes()) {
    const seen = await access.conditions(type, 's')
    const read = await access.conditions(type, 'r')
    const code = store.types.code(type) ?? 0
    const isWanted = query.types?.includes(type) !== false
    const since =
      query.since === undefined
        ? []
        : [await search.criteria.toCondition(type, '_lastUpdated', `ge${query.since}`, asking)]
    const isEvery = type === root && id === undefined
    const inside = isEvery ? undefined : await insideConditions(invocation, type, asking)
    // Somebody else's record is no part of this one, even where it is pointed at.
    if (isWanted && read !== undefined && !isEvery && !(root === 'Patient' && type === 'Patient'))
      targets.push({ type: code, conditions: [...outside(inside), ...since, ...read] })

    // The one it is about is shown first, and followed by itself.
    const isMember = type === root ? isEvery : members[type] !== undefined && inside !== undefined
    if (!isMember || seen === undefined) continue
    const dated = type === root ? [] : await careConditions(invocation, type, query, asking)
    const conditions = [...(inside === undefined ? [] : [inside]), ...dated, ...seen]
    const all = await search.planner(code, conditions)
    followed.push(all)
    if (isWanted) shown.push(since.length === 0 ? all : await search.planner(code, [...conditions, ...since]))
  }
  return { shown, followed, targets }
}

/**
 * The record that $everything answers with, as searches: the compartment of one resource, or of all of its type, and what
 * those refer to. https://hl7.org/fhir/R4/patient-operation-everything.html
 */
import type { OwnUrl } from '../../../kernel/index.ts'
import type { Access } from '../access/access-filter.ts'
import { anyCondition, type Condition, notCondition } from '../query/clause.ts'
import type { Plan } from '../query/plan-contract.ts'
import type { Asking } from '../query/search-context.ts'
import type { SearchView } from '../query/search-view.ts'
import type { Target } from './referred.ts'

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

/** Whose record: of one resource, or without an id of all of the type. */
export interface RecordQuery {
  readonly root: { readonly type: string; readonly id: string | undefined }
  readonly ownUrl: OwnUrl | undefined
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
  { search }: SearchView,
  type: string,
  { start, end }: RecordQuery,
  asking: Asking,
): Promise<readonly Condition[]> => {
  const { registry, criteria } = search
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
  { search }: SearchView,
  { root, ownUrl }: RecordQuery,
  type: string,
  asking: Asking,
): Promise<Condition | undefined> => {
  const { criteria, registry } = search
  const { id } = root
  if (id !== undefined) return criteria.inCompartment(type, { type: root.type, id }, ownUrl)
  const parameters = registry.parameters(type)
  const codes = (registry.compartments[root.type]?.[type] ?? []).filter(
    (code) => parameters.get(code)?.type === 'reference',
  )
  const conditions: Condition[] = []
  for (const code of codes) conditions.push(await criteria.toCondition(type, `${code}:missing`, 'false', asking))
  const [only] = conditions
  const named = { text: `compartment ${root.type}`, understood: `in the compartment of any ${root.type}` }
  return conditions.length > 1 ? anyCondition(named, conditions) : only
}

const outside = (inside: Condition | undefined): readonly Condition[] =>
  inside === undefined
    ? []
    : [notCondition({ text: `not in the ${inside.text}`, understood: `not ${inside.understood}` }, inside)]

/** Only what `access` lets be seen is answered, and only that is followed. */
export const planRecord = async (
  view: SearchView,
  query: RecordQuery,
  access: Access,
  asking: Asking,
): Promise<RecordPlans> => {
  const { search, store } = view
  const { type: root, id } = query.root
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
    const inside = isEvery ? undefined : await insideConditions(view, query, type, asking)
    // Somebody else's record is no part of this one, even where it is pointed at.
    if (isWanted && read !== undefined && !isEvery && !(root === 'Patient' && type === 'Patient'))
      targets.push({ type: code, conditions: [...outside(inside), ...since, ...read] })

    // The one it is about is shown first, and followed by itself.
    const isMember = type === root ? isEvery : members[type] !== undefined && inside !== undefined
    if (!isMember || seen === undefined) continue
    const dated = type === root ? [] : await careConditions(view, type, query, asking)
    const conditions = [...(inside === undefined ? [] : [inside]), ...dated, ...seen]
    const all = await search.planner(code, conditions)
    followed.push(all)
    if (isWanted) shown.push(since.length === 0 ? all : await search.planner(code, [...conditions, ...since]))
  }
  return { shown, followed, targets }
}

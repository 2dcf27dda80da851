/**
 * Plans the searches of $everything: the compartment of one resource, or of all resources of a type, and the
 * resources that it refers to. https://hl7.org/fhir/R4/patient-operation-everything.html
 */
import type { OwnUrl } from '../../../kernel/index.ts'
import type { AccessFilter } from '../access/access-filter.ts'
import { anyClause, idClause, notClause, type SearchClause } from '../query/clause.ts'
import type { TypeConditions } from '../query/clause-sql.ts'
import type { Plan } from '../query/plan-contract.ts'
import type { SearchContext } from '../query/search-context.ts'
import type { SearchView } from './search-view.ts'

/** Search parameters that give the date of care. The first one that a type has is used. */
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

/** The parameters of $everything. Without an `id`, all resources of the type. */
export interface RecordQuery {
  readonly root: { readonly type: string; readonly id: string | undefined }
  readonly ownUrl: OwnUrl | undefined
  readonly start: string | undefined
  readonly end: string | undefined
  readonly since: string | undefined
  readonly types: readonly string[] | undefined
}

export interface RecordPlans {
  /** Plans of the compartment's resources that are returned. */
  readonly shown: readonly Plan[]
  /**
   * Plans of the resources whose references are followed. They include those that `_type` and `_since` leave out of
   * the result.
   */
  readonly followed: readonly Plan[]
  /** Conditions, by type, on the referenced resources that are returned. */
  readonly targets: readonly TypeConditions[]
}

/** Matches care within the period, and resources without a date of care, which may belong to it. */
const careConditions = async (
  { search }: SearchView,
  type: string,
  { start, end }: RecordQuery,
  context: SearchContext,
): Promise<readonly SearchClause[]> => {
  const { registry, criteria } = search
  const parameters = registry.parameters(type)
  const code = CARE_DATES.find((one) => parameters.get(one)?.type === 'date')
  const bounds = [...(start === undefined ? [] : [`ge${start}`]), ...(end === undefined ? [] : [`le${end}`])]
  if (code === undefined || bounds.length === 0) return []
  const undated = await criteria.toClause(type, `${code}:missing`, 'true', context)
  const made: SearchClause[] = []
  for (const bound of bounds) {
    const dated = await criteria.toClause(type, code, bound, context)
    made.push(anyClause({ text: `${code}=${bound}`, description: `${code} ${bound}, or none` }, [dated, undated]))
  }
  return made
}

/** Matches the compartment of one resource, or of any resource of the type. Undefined when this type is never in it. */
const insideConditions = async (
  { search }: SearchView,
  { root, ownUrl }: RecordQuery,
  type: string,
  context: SearchContext,
): Promise<SearchClause | undefined> => {
  const { criteria, registry } = search
  const { id } = root
  if (id !== undefined) return criteria.inCompartment(type, { type: root.type, id }, ownUrl)
  const parameters = registry.parameters(type)
  const codes = (registry.compartments[root.type]?.[type] ?? []).filter(
    (code) => parameters.get(code)?.type === 'reference',
  )
  const conditions: SearchClause[] = []
  for (const code of codes) conditions.push(await criteria.toClause(type, `${code}:missing`, 'false', context))
  const [only] = conditions
  const named = { text: `compartment ${root.type}`, description: `in the compartment of any ${root.type}` }
  return conditions.length > 1 ? anyClause(named, conditions) : only
}

/** Other resources of the compartment's own type: a Patient that refers to this one in `link` is in its compartment. */
const othersConditions = (
  { search: { registry } }: SearchView,
  { root: { type: root, id = '' } }: RecordQuery,
  type: string,
  code: number,
): readonly SearchClause[] | undefined => {
  const parameters = registry.parameters(type)
  const members = registry.compartments[root]?.[type] ?? []
  if (!members.some((one) => parameters.get(one)?.type === 'reference')) return undefined
  const named = { text: `_id=${id}`, description: `${root}/${id} itself` }
  return [notClause(named, idClause(named, code, [id], registry.hasher.long))]
}

const outside = (inside: SearchClause | undefined): readonly SearchClause[] =>
  inside === undefined
    ? []
    : [notClause({ text: `not in the ${inside.text}`, description: `not ${inside.description}` }, inside)]

/** Returns and follows only resources that `access` lets the caller see. */
export const planRecord = async (
  view: SearchView,
  query: RecordQuery,
  access: AccessFilter,
  context: SearchContext,
): Promise<RecordPlans> => {
  const { search, store } = view
  const { type: root, id } = query.root
  const members = search.registry.compartments[root] ?? {}
  const shown: Plan[] = []
  const followed: Plan[] = []
  const targets: TypeConditions[] = []
  for (const type of await search.usedTypes()) {
    const seen = await access.conditions(type, 's')
    const read = await access.conditions(type, 'r')
    const code = store.types.code(type) ?? 0
    const isWanted = query.types?.includes(type) !== false
    const since =
      query.since === undefined
        ? []
        : [await search.criteria.toClause(type, '_lastUpdated', `ge${query.since}`, context)]
    const isEvery = type === root && id === undefined
    const inside = isEvery ? undefined : await insideConditions(view, query, type, context)
    // Other Patients are not returned, even if a resource of the compartment refers to them.
    if (isWanted && read !== undefined && !isEvery && !(root === 'Patient' && type === 'Patient'))
      targets.push({ type: code, conditions: [...outside(inside), ...since, ...read] })

    // The resource itself is returned first and followed separately, so it is left out here.
    const others = type === root && !isEvery ? othersConditions(view, query, type, code) : []
    const isMember = others !== undefined && (isEvery || (members[type] !== undefined && inside !== undefined))
    if (!isMember || seen === undefined) continue
    const dated = type === root ? [] : await careConditions(view, type, query, context)
    const conditions = [...(inside === undefined ? [] : [inside]), ...others, ...dated, ...seen]
    const all = await search.planner(code, conditions)
    followed.push(all)
    if (isWanted) shown.push(since.length === 0 ? all : await search.planner(code, [...conditions, ...since]))
  }
  return { shown, followed, targets }
}

/**
 * The record that $everything answers with, as searches: the compartment of one resource, or of all of its type, and what
 * those refer to. https://hl7.org/fhir/R4/patient-operation-everything.html
 */
import type { OwnUrl } from '../../../kernel/index.ts'
import type { AccessFilter } from '../access/access-filter.ts'
import { anyClause, idClause, notClause, type SearchClause } from '../query/clause.ts'
import type { TypeConditions } from '../query/clause-sql.ts'
import type { Plan } from '../query/plan-contract.ts'
import type { SearchContext } from '../query/search-context.ts'
import type { SearchView } from './search-view.ts'

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
  readonly targets: readonly TypeConditions[]
}

/** Dates of care within a range, or none at all: what has no date cannot be told to lie outside. */
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

/** In the compartment of one resource, or of any of its type; undefined when the type never is. */
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

/** Others of the type it is about: a Patient that names this one in `link` lies in its compartment. */
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

/** Only what `access` lets be seen is answered, and only that is followed. */
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
    // Somebody else's record is no part of this one, even where it is pointed at.
    if (isWanted && read !== undefined && !isEvery && !(root === 'Patient' && type === 'Patient'))
      targets.push({ type: code, conditions: [...outside(inside), ...since, ...read] })

    // The one it is about is shown first, and followed by itself.
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

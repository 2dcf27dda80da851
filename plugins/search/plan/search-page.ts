/** Performs a search of any shape and returns a page of it. https://hl7.org/fhir/R4/search.html */
import type { Issue, ServerError } from '../../../kernel/index.ts'
import { withProgress } from '../access/with-progress.ts'
import { ExplainRestricted } from '../errors.ts'
import type { SearchClause } from '../query/clause.ts'
import { shortenKeys } from '../query/page-keys.ts'
import { type PagePosition, signPageToken } from '../query/page-token.ts'
import type { Plan } from '../query/plan-contract.ts'
import type { SearchPage, SearchQuery } from '../query/search-query.ts'
import { includeBeside } from './beside/beside-includes.ts'
import { besideMatches, type Matches, mergedMatches } from './beside/beside-matches.ts'
import type { Beside } from './beside/beside-subjects.ts'
import { containedPage, countContained } from './contained/contained-page.ts'
import { askContained } from './contained/plan-contained.ts'
import { createDeadline } from './deadline.ts'
import { explainPlans } from './explain.ts'
import type { Included } from './include.ts'
import { MAX_INCLUDED } from './include-statements.ts'
import type { SearchMatch } from './nearest-contract.ts'
import type { Direction } from './plan.ts'
import { type PlanSummary, summarizePlan } from './plan-summary.ts'
import {
  checkIncludes,
  pageAddressOf,
  type ResolvedSearch,
  resolveSearch,
  startOf,
  toStart,
} from './resolved-search.ts'
import type { SearchView } from './search-view.ts'

const ESTIMATE_MOST = 100_000 // counting for an estimate stops here

const refuse = (error: ServerError): never => {
  throw error
}

/** Throws 400 for unsupported parameters, 403 for a forbidden type or a search that takes too long. */
export const findPage = (view: SearchView, query: SearchQuery): Promise<SearchPage> => {
  const { inSnapshot } = view.search
  return inSnapshot === undefined ? findIn(view, query) : inSnapshot((search) => findIn({ ...view, search }, query))
}

const findIn = async (view: SearchView, query: SearchQuery): Promise<SearchPage> => {
  const { search, clock } = view
  const { context, request, ruling } = query
  // Plans and durations depend on all stored resources, including hidden ones.
  if (request.explain && !ruling.covers(['r', 's'])) throw ExplainRestricted()
  const tracer = request.explain ? search.tracer() : undefined
  const deadline = createDeadline(context, clock, tracer?.trace)
  try {
    return await find(await resolveSearch({ view, query, deadline, tracer }))
  } catch (error) {
    throw deadline.refusal(withProgress(error, ruling))
  } finally {
    deadline.end()
  }
}

const find = async (resolved: ResolvedSearch): Promise<SearchPage> => {
  checkIncludes(resolved)
  const address = pageAddressOf(resolved)
  const { position, direction } = startOf(resolved, address)
  const plans = await plansOf(resolved)
  const { watchPlans } = resolved.view.search
  if (watchPlans !== undefined) watchPlans(summariesOf(resolved, plans))
  const stored = (from: PagePosition): Promise<Matches> => matchesOf(resolved, plans, from, direction)
  const beside = await besideMatches(resolved, (type) => conditionsOf(resolved, type))
  const matches =
    beside === undefined || beside.subjects.length === 0
      ? await stored(position)
      : await mergedMatches(resolved, resolved.view.beside as Beside, beside, stored, position, direction)
  const notes = notesBefore(resolved, plans)
  if (beside?.note !== undefined) notes.push(beside.note)
  const found = resolved.countOnly ? [] : await matches.page(resolved.resolved.count + 1)
  const nearest = found.slice(0, resolved.resolved.count)
  const shown = direction === 'older' ? nearest : nearest.toReversed()
  const total = await totalOf(resolved, matches, found)
  const included = await includedBy(resolved, shown)
  const more = await includeBeside(resolved, shown, included.versions.length)
  const isTruncated = included.isTruncated || more.isTruncated
  notes.push(...(await notesAfter(resolved, isTruncated)))
  const links = linksOf(resolved, address, position, direction, shown, found.length > shown.length)
  const entries = [
    ...shown.map(({ version, contained }) => ({ version, mode: 'match' as const, contained })),
    ...[...included.versions, ...more.versions].map((version) => ({ version, mode: 'include' as const })),
  ]
  return { entries, total, links, issues: notes }
}

/**
 * One plan for each type that the caller may see and that can have matches. Throws 403 when the only requested type
 * is forbidden.
 */
const plansOf = async (resolved: ResolvedSearch): Promise<readonly Plan[]> => {
  const { view, query, types, access } = resolved
  const { planner } = view.search
  const plans: Plan[] = []
  const used = access.isUnrestricted || types.length === 1 ? types : await view.search.usedTypes()
  for (const type of types) {
    if (!used.includes(type)) continue
    if (query.scope.type !== undefined && (await access.conditions(type, 's')) === undefined)
      refuse(access.forbidden(type, 's'))
    const conditions = await conditionsOf(resolved, type)
    if (conditions !== undefined) plans.push(await planner(view.store.types.code(type) ?? 0, conditions))
  }
  return plans
}

/** All that resources of a type have to meet. Undefined where the caller may see none, or none can match. */
const conditionsOf = async (
  { view, query: { context, scope }, access, resolved: understood }: ResolvedSearch,
  type: string,
): Promise<readonly SearchClause[] | undefined> => {
  const seen = await access.conditions(type, 's')
  if (seen === undefined) return undefined
  const { criteria } = view.search
  const inside =
    scope.compartment === undefined ? [] : [criteria.inCompartment(type, scope.compartment, context.ownUrl)]
  if (inside.includes(undefined)) return undefined
  return [...(understood.conditions.get(type) ?? []), ...seen, ...(inside as SearchClause[])]
}

const summariesOf = ({ view, resolved: { keys } }: ResolvedSearch, plans: readonly Plan[]): readonly PlanSummary[] => {
  const sort = keys.map(({ name }) => name)
  return plans.map((plan) => summarizePlan(plan, view.store.types.name, sort))
}

/** Reads whole resources, or contained ones. */
const matchesOf = async (
  resolved: ResolvedSearch,
  plans: readonly Plan[],
  position: PagePosition,
  direction: Direction,
): Promise<Matches> => {
  const { view, query, deadline, context, access, resolved: understood } = resolved
  const { scope } = query
  const { search, store } = view
  const { executor } = search
  const { request } = understood
  const { snapshotKey } = position
  const type = scope.compartment === undefined ? scope.type : undefined
  const inner =
    request.contained === 'false'
      ? undefined
      : await askContained(search, store.types, type, request, context, access, plans[0])
  if (plans.length === 0) return { page: async () => [], count: async () => 0 }
  if (inner === undefined)
    return {
      page: (limit) =>
        direction === 'older'
          ? executor.page(plans, position, understood.keys, limit, deadline)
          : executor.pageBefore(plans, position, understood.keys, limit, deadline),
      count: (most) => executor.count(plans, snapshotKey, most, deadline),
    }
  return {
    page: (limit) => containedPage(executor, inner, position, limit, direction, deadline),
    count: () => countContained(executor, inner, snapshotKey, deadline),
  }
}

/** The total where it was requested. A first page that holds all matches gives it without counting. */
const totalOf = async (
  { resolved, countOnly }: ResolvedSearch,
  matches: Matches,
  found: readonly SearchMatch[],
): Promise<number | undefined> => {
  const { total, page } = resolved.request
  if (total === 'none' && !countOnly) return undefined
  if (!countOnly && page === undefined && found.length <= resolved.count) return found.length
  const accurate = countOnly || total === 'accurate'
  if (!accurate && total !== 'estimate') return undefined
  return matches.count(accurate ? undefined : ESTIMATE_MOST)
}

const includedBy = (
  { view: { search, catalog }, access, resolved, deadline }: ResolvedSearch,
  shown: readonly SearchMatch[],
): Promise<Included> =>
  search.includer.include(
    resolved.request,
    shown.map(({ version: { rid, type } }) => ({ rid, type })),
    access,
    [...catalog.types.keys()],
    deadline,
  )

/** Notes on ignored parameters, and for `_explain` on the plans. */
const notesBefore = ({ view, tracer, resolved }: ResolvedSearch, plans: readonly Plan[]): Issue[] => {
  const notes: Issue[] = resolved.ignored.map(({ name, reason }) => ({
    severity: 'warning',
    code: 'not-supported',
    diagnostics: `"${name.slice(0, 100)}" was ignored: ${reason}`,
  }))
  if (tracer !== undefined) notes.push(...explainPlans({ plans, keys: resolved.keys, typeName: view.store.types.name }))
  return notes
}

/** Notes of `_explain` on the statements, and a warning when includes were left out. */
const notesAfter = async ({ tracer }: ResolvedSearch, isTruncated: boolean): Promise<readonly Issue[]> => {
  const notes: Issue[] = tracer === undefined ? [] : [...(await tracer.report())]
  if (isTruncated)
    notes.push({
      severity: 'warning',
      code: 'too-costly',
      diagnostics: `More resources were to be included than the ${MAX_INCLUDED} a page may hold; the others are left out.`,
    })
  return notes
}

/** A page that was reached by a link has a previous page; one that was read backwards has a next page. */
const linksOf = (
  { view: { search, clock }, query: { context }, resolved: { request } }: ResolvedSearch,
  address: string,
  { snapshotKey }: PagePosition,
  direction: Direction,
  shown: readonly SearchMatch[],
  isMore: boolean,
): SearchPage['links'] => {
  const link = (relation: string, match: SearchMatch, way: Direction): SearchPage['links'][number] => {
    const { version, sortPosition, keys } = match
    const position = toStart({ snapshotKey, rid: sortPosition ?? version.rid, keys: shortenKeys(keys) }, way)
    const page = signPageToken(search.registry.key, clock, context.caller, address, position)
    return { relation, address: `${address}&_page=${page}` }
  }
  const [first, last] = [shown[0], shown.at(-1)]
  const isOlder = direction === 'older'
  const links = [{ relation: 'self', address }]
  if (first !== undefined && (isOlder ? request.page !== undefined : isMore))
    links.push(link('previous', first, 'newer'))
  if (last !== undefined && (isOlder ? isMore : true)) links.push(link('next', last, 'older'))
  return links
}

/**
 * Pages of $everything: a resource and its compartment, followed on the last pages by the resources that those refer
 * to.
 */
import type { RequestContext, Ruling } from '../../../kernel/index.ts'
import { readDateRange } from '../../model/service.ts'
import type { StoredVersion } from '../../storage/service.ts'
import { type AccessFilter, createAccessFilter, linkedBy, UNRESTRICTED } from '../access/access-filter.ts'
import { type PagePosition, signPageToken, verifyPageToken } from '../query/page-token.ts'
import type { SearchContext } from '../query/search-context.ts'
import { planRecord, type RecordQuery } from './compartment-plans.ts'
import { MAX_INCLUDED } from './include-statements.ts'
import type { SearchView } from './search-view.ts'

export interface CompartmentQuery extends Omit<RecordQuery, 'ownUrl'> {
  readonly context: RequestContext
  readonly ruling: Ruling
  /** The resource of the compartment. Undefined for all resources of a type. */
  readonly focus: StoredVersion | undefined
  /** Most matches on a page. */
  readonly count: number
  /** The address that page tokens are bound to. */
  readonly address: string
  /** Undefined for the first page. */
  readonly page: string | undefined
}

export interface CompartmentPage {
  readonly matches: readonly StoredVersion[]
  /** Resources that the compartment refers to, at most MAX_INCLUDED. */
  readonly included: readonly StoredVersion[]
  /** The token of the next page. Undefined on the last page. */
  readonly next: string | undefined
}

const isWanted = ({ types, since }: CompartmentQuery, { type, versionTime }: StoredVersion): boolean => {
  const from = since === undefined ? undefined : readDateRange(since)?.from
  return types?.includes(type) !== false && (from === undefined || versionTime >= from)
}

/** Marks a position among the resources that the compartment refers to. A position in the compartment has no keys. */
const REFERRED: readonly string[] = ['referred']
const isReferred = ({ keys }: PagePosition): boolean => keys.length > 0

interface Found {
  readonly matches: readonly StoredVersion[]
  readonly included: readonly StoredVersion[]
  /** Where the next page begins. Undefined on the last page. */
  readonly next: PagePosition | undefined
}

/** Reads a page: matches, and once these have ended the resources that the compartment refers to. */
const readPage = async (
  view: SearchView,
  wanted: CompartmentQuery,
  position: PagePosition,
  access: AccessFilter,
  asking: SearchContext,
): Promise<Found> => {
  const { executor, referred } = view.search
  const { context, focus } = wanted
  const { snapshotKey } = position
  const { shown, followed, targets } = await planRecord(view, { ...wanted, ownUrl: context.ownUrl }, access, asking)
  const matches: StoredVersion[] = []
  if (!isReferred(position)) {
    if (wanted.page === undefined && focus !== undefined && isWanted(wanted, focus)) matches.push(focus)
    const room = wanted.count - matches.length
    const found = shown.length === 0 ? [] : await executor.page(shown, position, [], room + 1, context)
    for (const { version } of found.slice(0, room)) matches.push(version)
    if (found.length > room)
      return {
        matches,
        included: [],
        next: { snapshotKey, rid: found[room - 1]?.version.rid ?? position.rid, keys: [] },
      }
  }
  const rids = await referred(
    {
      plans: followed,
      rids: focus === undefined ? [] : [focus.rid],
      targets,
      position: isReferred(position) ? position : { snapshotKey, rid: Number.MAX_SAFE_INTEGER },
      limit: MAX_INCLUDED + 1,
      ownUrl: context.ownUrl,
    },
    context,
  )
  const page = rids.slice(0, MAX_INCLUDED)
  const last = rids.length > MAX_INCLUDED ? page.at(-1) : undefined
  return {
    matches,
    included: await executor.versions(page, context, targets),
    next: last === undefined ? undefined : { snapshotKey, rid: last, keys: REFERRED },
  }
}

/** Throws what `verifyPageToken` throws for an invalid token. */
export const findCompartment = async (view: SearchView, query: CompartmentQuery): Promise<CompartmentPage> => {
  const { search, clock } = view
  const { context, ruling, address, page } = query
  const base = { ownUrl: context.ownUrl, now: clock.now(), snapshotKey: await search.snapshotKey() }
  const access = ruling.restrictions.length === 0 ? UNRESTRICTED : createAccessFilter(ruling, search.criteria, base)
  const asking: SearchContext = { ...base, ...linkedBy(access) }
  const position =
    page === undefined
      ? { snapshotKey: base.snapshotKey, rid: Number.MAX_SAFE_INTEGER, keys: [] }
      : verifyPageToken(search.registry.key, clock, context.caller, address, page)
  const { next, ...found } = await readPage(view, query, position, access, asking)
  return { ...found, next: next && signPageToken(search.registry.key, clock, context.caller, address, next) }
}

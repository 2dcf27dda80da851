/** A record page by page: a resource and its compartment; then, on the pages where they end, what they refer to. */
import type { RequestContext, Ruling } from '../../../kernel/index.ts'
import { readSpan } from '../../model/service.ts'
import type { StoredVersion } from '../../storage/service.ts'
import { type Access, OPEN, toAccess } from '../access/access-filter.ts'
import { openPage, type PagePosition, sealPage } from '../query/page-token.ts'
import type { Asking } from '../query/search-context.ts'
import type { SearchView } from '../query/search-view.ts'
import { planRecord, type RecordQuery } from './compartment-plans.ts'
import { MOST_INCLUDED } from './include.ts'

export interface CompartmentQuery extends Omit<RecordQuery, 'ownUrl'> {
  readonly context: RequestContext
  readonly ruling: Ruling
  /** The resource whose record it is; undefined for all of a type. */
  readonly focus: StoredVersion | undefined
  /** Most of the compartment on a page. */
  readonly count: number
  /** What page tokens are bound to. */
  readonly address: string
  /** Undefined for the first page. */
  readonly page: string | undefined
}

export interface CompartmentPage {
  readonly matches: readonly StoredVersion[]
  /** What they refer to; at most as many as a search includes. */
  readonly included: readonly StoredVersion[]
  /** The token of the next page; undefined behind the last one. */
  readonly next: string | undefined
}

const isWanted = ({ types, since }: CompartmentQuery, { type, stamp }: StoredVersion): boolean => {
  const from = since === undefined ? undefined : readSpan(since)?.from
  return types?.includes(type) !== false && (from === undefined || stamp >= from)
}

/** A position among what the compartment refers to, as the keys of a page token; the compartment itself has none. */
const REFERRED: readonly string[] = ['referred']
const isReferred = ({ keys }: PagePosition): boolean => keys.length > 0

interface Found {
  readonly matches: readonly StoredVersion[]
  readonly included: readonly StoredVersion[]
  /** Where the next page begins; undefined behind the last one. */
  readonly next: PagePosition | undefined
}

/** The resource it is about and its compartment; then, on the page where they end, what they refer to. */
const readPage = async (
  view: SearchView,
  wanted: CompartmentQuery,
  position: PagePosition,
  access: Access,
  asking: Asking,
): Promise<Found> => {
  const { executor, referred } = view.search
  const { context, focus } = wanted
  const { pin } = position
  const { shown, followed, targets } = await planRecord(view, { ...wanted, ownUrl: context.ownUrl }, access, asking)
  const matches: StoredVersion[] = []
  if (!isReferred(position)) {
    if (wanted.page === undefined && focus !== undefined && isWanted(wanted, focus)) matches.push(focus)
    const room = wanted.count - matches.length
    const found = shown.length === 0 ? [] : await executor.page(shown, position, [], room + 1, context)
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
      ownUrl: context.ownUrl,
    },
    context,
  )
  const page = rids.slice(0, MOST_INCLUDED)
  const last = rids.length > MOST_INCLUDED ? page.at(-1) : undefined
  return {
    matches,
    included: await executor.versions(page, context),
    next: last === undefined ? undefined : { pin, rid: last, keys: REFERRED },
  }
}

/** Throws 400 for a token that was given for another record, or to somebody else. */
export const findCompartment = async (view: SearchView, query: CompartmentQuery): Promise<CompartmentPage> => {
  const { search, clock } = view
  const { context, ruling, address, page } = query
  const base = { ownUrl: context.ownUrl, now: clock.now(), pin: await search.pin() }
  const access = ruling.restrictions.length === 0 ? OPEN : toAccess(ruling, search.criteria, base)
  const asking: Asking = { ...base, allowed: (type) => access.conditions(type, 's') }
  const position =
    page === undefined
      ? { pin: base.pin, rid: Number.MAX_SAFE_INTEGER, keys: [] }
      : openPage(search.registry.key, clock, context.caller, address, page)
  const { next, ...found } = await readPage(view, query, position, access, asking)
  return { ...found, next: next && sealPage(search.registry.key, clock, context.caller, address, next) }
}

/**
 * Merges the matches among stored resources with those beside them. Both are in the order of the same sort values and of
 * `rid`, so a page position holds for both.
 */
import type { Issue } from '../../../../kernel/index.ts'
import type { SearchClause } from '../../query/clause.ts'
import { areWhole, wholeKeys } from '../../query/page-keys.ts'
import type { PagePosition } from '../../query/page-token.ts'
import { bestSortText, missingSortText, type SortKey } from '../../query/sort-order.ts'
import type { SearchMatch } from '../nearest-contract.ts'
import type { Direction } from '../plan.ts'
import type { ResolvedSearch } from '../resolved-search.ts'
import { compareSorted, type SortedMatch } from '../sort-in-memory.ts'
import type { BesideName } from './beside-source.ts'
import type { Beside, BesideSubject } from './beside-subjects.ts'

/** How the matches of a search are read. */
export interface Matches {
  /** The matches next to the start of the page, nearest first. */
  page(limit: number): Promise<readonly SearchMatch[]>
  /** The number of all matches, or `most` if there are more. */
  count(most: number | undefined): Promise<number>
}

export interface BesideMatches {
  readonly subjects: readonly BesideSubject[]
  /** Why resources beside the stored ones were left out. */
  readonly note?: Issue
}

/**
 * A test of names that all matches pass, where the search says a url or an id. The first search of a client is mostly one by
 * url, and needs not wait until all of its type are extracted.
 */
const namedBy = (criteria: readonly (readonly [string, string])[]): ((name: BesideName) => boolean) | undefined => {
  for (const [parameter, value] of criteria) {
    if ((parameter !== 'url' && parameter !== '_id') || /[\\|]/.test(value)) continue
    const values = new Set(value.split(','))
    return ({ id, url = '' }) => values.has(parameter === 'url' ? url : id)
  }
  return undefined
}

/** Those that match all conditions. Undefined for a search that shows stored resources only. */
export const besideMatches = async (
  { view, query, types, resolved }: ResolvedSearch,
  conditionsOf: (type: string) => Promise<readonly SearchClause[] | undefined>,
): Promise<BesideMatches | undefined> => {
  const { beside, transaction } = view
  const [type] = types
  if (beside === undefined || query.beside !== true || type === undefined || query.scope.type === undefined)
    return undefined
  if (query.scope.compartment !== undefined || resolved.request.contained !== 'false') return undefined
  if (!beside.source.has(type)) return undefined
  const conditions = await conditionsOf(type)
  if (conditions === undefined) return undefined
  const open = conditions.find(({ matches }) => matches === undefined)
  if (open !== undefined)
    return {
      subjects: [],
      note: {
        severity: 'warning',
        code: 'incomplete',
        diagnostics: `The definitions of installed packages are left out, because ${open.text.slice(0, 100)} is searched among stored resources only.`,
      },
    }
  const all = await beside.subjects(type, transaction, namedBy(resolved.request.criteria))
  return { subjects: all.filter((one) => conditions.every(({ matches }) => matches?.(one) === true)) }
}

type Placed = SortedMatch & { readonly subject: BesideSubject }

const BATCH = 50 // resources in memory at once

/** Sort values of all. Texts of tokens and references are read from the resources. */
const place = async (
  { source }: Beside,
  { view: { transaction } }: ResolvedSearch,
  type: string,
  subjects: readonly BesideSubject[],
  keys: readonly SortKey[],
): Promise<readonly Placed[]> => {
  const found = new Map<number, readonly string[]>()
  if (keys.some(({ texts }) => texts !== undefined))
    for (let at = 0; at < subjects.length; at += BATCH)
      for (const { rid, text } of await source.versions(type, subjects.slice(at, at + BATCH), transaction)) {
        const resource = JSON.parse(text) as Record<string, unknown>
        found.set(
          rid,
          keys.map(({ texts, descending }) => (texts === undefined ? '' : bestSortText(texts(resource), descending))),
        )
      }
  const sortValueOf = (subject: BesideSubject, { of, descending }: SortKey, at: number): string | number =>
    of?.(subject) ?? found.get(subject.rid)?.[at] ?? missingSortText(descending)
  return subjects.map((subject) => ({
    rid: subject.rid,
    subject,
    keys: keys.map((key, at) => sortValueOf(subject, key, at)),
  }))
}

/** A position whose shortened texts are whole again, where it is that of a resource beside the stored ones. */
const wholePosition = (
  position: PagePosition,
  placed: readonly Placed[],
  keys: readonly SortKey[],
): PagePosition & SortedMatch => {
  const { keys: given } = position
  if (areWhole(given)) return { ...position, keys: given }
  const own = placed.find(({ rid }) => rid === position.rid)
  return { ...position, keys: wholeKeys(given, own?.keys ?? [], (at) => keys[at]?.descending === true) }
}

/** `stored`: reads the stored matches next to a position. */
export const mergedMatches = async (
  resolved: ResolvedSearch,
  beside: Beside,
  { subjects }: BesideMatches,
  stored: (position: PagePosition) => Promise<Matches>,
  position: PagePosition,
  direction: Direction,
): Promise<Matches> => {
  const type = resolved.types[0] as string
  const { keys } = resolved.resolved
  if (resolved.countOnly) {
    const { count } = await stored(position)
    return { page: async () => [], count: async (most) => subjects.length + (await count(most)) }
  }
  const placed = await place(beside, resolved, type, subjects, keys)
  const from = wholePosition(position, placed, keys)
  const own = await stored(position.rid < 0 ? from : position)
  const way = direction === 'older' ? 1 : -1
  const order = (one: SortedMatch, other: SortedMatch): number => way * compareSorted(keys, one, other)
  return {
    async page(limit) {
      const isFirst = resolved.resolved.request.page === undefined
      const here = placed.filter((one) => isFirst || order(one, from) > 0).toSorted(order)
      const held = (await own.page(limit)).map((match) => ({ rid: match.version.rid, keys: match.keys, match }))
      const merged = [...here.slice(0, limit), ...held].sort(order).slice(0, limit)
      const names = merged.flatMap((one) => ('subject' in one ? [one.subject] : []))
      const versions = await beside.source.versions(type, names, resolved.view.transaction)
      const contents = new Map(versions.map((version) => [version.rid, version]))
      return merged.flatMap((one): SearchMatch | readonly SearchMatch[] => {
        if ('match' in one) return one.match
        const version = contents.get(one.rid)
        return version === undefined ? [] : { version, keys: one.keys }
      })
    },
    count: async (most) => subjects.length + (await own.count(most)),
  }
}

/** `_include` and `_revinclude` among the resources beside the stored ones, and of stored matches to them. */
import type { Right } from '../../../../kernel/index.ts'
import type { StoredVersion } from '../../../storage/service.ts'
import { CANONICAL } from '../../definition/column-codes.ts'
import { type IndexEntries, REFERENCE_COLUMNS } from '../../index/index-entries.ts'
import type { Include } from '../../query/search-parameters.ts'
import { type IncludedKey, MAX_INCLUDED } from '../include-statements.ts'
import type { SearchMatch } from '../nearest-contract.ts'
import type { ResolvedSearch } from '../resolved-search.ts'
import type { BesideSubject } from './beside-subjects.ts'

const MAX_ROUNDS = 10

interface Holder {
  readonly type: string
  readonly id: string
  readonly rows: IndexEntries
}

/** The targets of rows in some columns. */
const targetsIn = ({ reference }: IndexEntries, columns: ReadonlySet<number>): readonly number[] => {
  const found: number[] = []
  for (let at = 0; at < reference.length; at += REFERENCE_COLUMNS)
    if (columns.has(reference[at] as number)) found.push(reference[at + 1] as number)
  return found
}

const createLinks = ({ view: { search, catalog, beside } }: ResolvedSearch) => {
  const { registry, criteria } = search
  const types = [...catalog.types.keys()].filter((type) => beside?.source.has(type))
  const parametersOf = ({ parameter }: Include, type: string) =>
    parameter === '*'
      ? [...registry.parameters(type).values()].filter((one) => one.type === 'reference')
      : [criteria.parameterOf(type, parameter)]
  return {
    types,
    /** Columns of the references that an include names on a type. */
    columnsOf: (include: Include, type: string): ReadonlySet<number> =>
      new Set(
        parametersOf(include, type).flatMap(({ columns }) => columns.flatMap(({ code }) => [code, code + CANONICAL])),
      ),
    targetTypes(include: Include, type: string): readonly string[] {
      const named =
        include.target === undefined ? parametersOf(include, type).flatMap(({ targets }) => targets) : [include.target]
      return named.length === 0 ? types : types.filter((one) => named.includes(one))
    },
    /** What references to it are hashed as: its url with and without its version, and `Type/id`. */
    namesOf: ({ type, id, rows }: Holder): readonly number[] => {
      const own = registry.canonicalColumn(type)
      return [...(own === undefined ? [] : targetsIn(rows, new Set([own]))), registry.hasher.long(`${type}/${id}`)]
    },
  }
}

/** Resources to include, without `included` and the matches themselves. At most MAX_INCLUDED with those. */
export const includeBeside = async (
  resolved: ResolvedSearch,
  matches: readonly SearchMatch[],
  included: number,
): Promise<{ readonly versions: readonly StoredVersion[]; readonly isTruncated: boolean }> => {
  const { view, query, access, types: searched } = resolved
  const { request } = resolved.resolved
  const { beside, transaction, search } = view
  const isWanted = request.includes.length + request.revincludes.length > 0
  if (!isWanted || beside === undefined || query.beside !== true || !beside.source.has(searched[0] ?? ''))
    return { versions: [], isTruncated: false }
  const links = createLinks(resolved)
  const keyOf = ({ type, id }: Pick<Holder, 'type' | 'id'>): string => `${type}/${id}`
  const seen = new Set(matches.map(({ version }) => keyOf(version)))
  const found: BesideSubject[] = []
  let isTruncated = false

  const allowed = async (type: string, right: Right): Promise<(one: BesideSubject) => boolean> => {
    const conditions = await access.conditions(type, right)
    return (one) => conditions?.every(({ matches: meets }) => meets?.(one) === true) === true
  }
  const add = async (
    type: string,
    right: Right,
    isFound: (one: BesideSubject) => boolean,
  ): Promise<BesideSubject[]> => {
    const isAllowed = await allowed(type, right)
    const next: BesideSubject[] = []
    for (const one of await beside.subjects(type, transaction)) {
      if (seen.has(keyOf(one)) || !isFound(one) || !isAllowed(one)) continue
      if (included + found.length === MAX_INCLUDED) {
        isTruncated = true
        break
      }
      seen.add(keyOf(one))
      found.push(one)
      next.push(one)
    }
    return next
  }

  let from: readonly Holder[] = await Promise.all(
    matches.map(async ({ version: { rid, type, id, text } }): Promise<Holder> => {
      const known = rid < 0 ? (await beside.subjects(type, transaction)).find((one) => one.rid === rid) : undefined
      return known ?? { type, id, rows: search.registry.extract(JSON.parse(text)) }
    }),
  )
  for (let round = 0; from.length > 0 && round < MAX_ROUNDS; round += 1) {
    const next: Holder[] = []
    const active = (list: readonly Include[]): readonly Include[] =>
      list.filter(({ iterate }) => round === 0 || iterate)
    for (const [type, holders] of Map.groupBy(from, (one) => one.type))
      for (const include of active(request.includes)) {
        if (include.source !== '*' && include.source !== type) continue
        const columns = links.columnsOf(include, type)
        const targets = new Set(holders.flatMap(({ rows }) => targetsIn(rows, columns)))
        for (const target of targets.size === 0 ? [] : links.targetTypes(include, type))
          next.push(...(await add(target, 'r', (one) => links.namesOf(one).some((name) => targets.has(name)))))
      }
    for (const include of active(request.revincludes)) {
      const named = from.filter(({ type }) => include.target === undefined || include.target === type)
      const names = new Set(named.flatMap(links.namesOf))
      for (const source of include.source === '*' ? links.types : links.types.filter((one) => one === include.source)) {
        const columns = links.columnsOf(include, source)
        next.push(...(await add(source, 's', ({ rows }) => targetsIn(rows, columns).some((one) => names.has(one)))))
      }
    }
    from = next
  }
  const versions: StoredVersion[] = []
  for (const [type, list] of Map.groupBy(found, (one) => one.type) as Map<string, (BesideSubject & IncludedKey)[]>)
    versions.push(...(await beside.source.versions(type, list, transaction)))
  return { versions, isTruncated }
}

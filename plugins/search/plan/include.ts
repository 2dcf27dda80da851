/**
 * `_include` and `_revinclude`, which add resources that the matches refer to or that refer to them. They are found
 * in the index, without parsing resources. https://hl7.org/fhir/R4/search.html#revinclude
 */
import type { OwnUrl, Right } from '../../../kernel/index.ts'
import type { StoredVersion } from '../../storage/service.ts'
import type { AccessFilter } from '../access/access-filter.ts'
import { createAliases } from '../query/clause-sql.ts'
import type { Include } from '../query/search-parameters.ts'
import { and, type Fragment, q, raw } from '../sql/fragment.ts'
import type { Deadline } from './deadline.ts'
import type { Executor } from './executor.ts'
import {
  createIncludeStatements,
  type IncludedKey,
  type IncludeStatementsParts,
  MAX_FOUND,
  MAX_INCLUDED,
} from './include-statements.ts'
import { createIncludedContent } from './included-content.ts'

const MAX_ROUNDS = 10

export interface Included {
  readonly versions: readonly StoredVersion[]
  /** True when resources were left out because of a limit. */
  readonly isTruncated: boolean
}

interface Found {
  readonly held: ReadonlyMap<number, IncludedKey>
  /** True when a statement has returned as many rows as it may. */
  readonly isFull: boolean
}

/** Parameters that are the same in all rounds. */
interface Including {
  readonly access: AccessFilter
  /** Names of all types that may be included. */
  readonly all: readonly string[]
  readonly asking: Deadline & { readonly ownUrl: OwnUrl | undefined }
}

const NEWEST_FIRST = raw(' ORDER BY rid DESC')

export interface IncludeParts extends IncludeStatementsParts {
  readonly executor: Executor
}

export const createIncluder = (parts: IncludeParts) => {
  const { executor, types } = parts
  const { check, forward, backward } = createIncludeStatements(parts)
  const { filter, contentOf } = createIncludedContent(executor, types)

  const select = async (
    statements: readonly Fragment[],
    seen: ReadonlySet<number>,
    deadline: Deadline,
  ): Promise<Found> => {
    const held = new Map<number, IncludedKey>()
    let isFull = false
    for (const statement of statements) {
      const rows = await executor.select<{ rid: number; type: number }>(statement, deadline)
      isFull ||= rows.length === MAX_FOUND
      for (const { rid, type } of rows) if (!seen.has(rid)) held.set(rid, { rid, type: types.name(type) })
    }
    return { held, isFull }
  }
  /**
   * Finds resources that refer to the page. The first statements are not sorted, because they mostly return
   * everything. When one reaches its limit, the newest are read instead, so that the same page always includes the
   * same resources. With limited access each type is then read separately with its access conditions, so that hidden
   * resources do not count towards the limit.
   */
  const referring = async (
    include: Include,
    from: readonly IncludedKey[],
    seen: ReadonlySet<number>,
    { access, all, asking }: Including,
  ): Promise<ReadonlyMap<number, IncludedKey>> => {
    const { ownUrl } = asking
    const first = await select(await backward(include, from, all, ownUrl), seen, asking)
    if (!first.isFull) return first.held
    if (access.isUnrestricted) {
      const newest = await backward(include, from, all, ownUrl, undefined, NEWEST_FIRST)
      return (await select(newest, seen, asking)).held
    }
    const statements: Fragment[] = []
    for (const source of include.source === '*' ? all : [include.source]) {
      const conditions = await access.conditions(source, 's')
      if (conditions === undefined) continue
      const name = createAliases()
      const where = and([q`s.type = ${types.code(source) ?? 0}`, ...conditions.map((one) => one.checkSql('s', name))])
      statements.push(...(await backward({ ...include, source }, from, all, ownUrl, where, NEWEST_FIRST)))
    }
    return (await select(statements, seen, asking)).held
  }

  return {
    check,
    /** Finds the resources to include that the caller may see. `matches` themselves are not included again. */
    async include(
      request: { readonly includes: readonly Include[]; readonly revincludes: readonly Include[] },
      matches: readonly IncludedKey[],
      access: AccessFilter,
      all: readonly string[],
      asking: Deadline & { readonly ownUrl: OwnUrl | undefined },
    ): Promise<Included> {
      const seen = new Set(matches.map(({ rid }) => rid))
      const shown: { readonly held: IncludedKey; readonly right: Right }[] = []
      let from: readonly IncludedKey[] = matches
      let isTruncated = false
      for (let round = 0; from.length > 0 && !isTruncated; round += 1) {
        const active = (list: readonly Include[]): readonly Include[] =>
          list.filter(({ iterate }) => round === 0 || iterate)
        const forwards: Fragment[] = []
        for (const one of active(request.includes)) forwards.push(...(await forward(one, from, all, asking.ownUrl)))
        // For referenced resources the caller needs the right to read, for referring ones the right to search.
        const { held: referred } = await select(forwards, seen, asking)
        const found = new Map<number, IncludedKey>()
        for (const one of active(request.revincludes))
          for (const [rid, held] of await referring(one, from, seen, { access, all, asking })) found.set(rid, held)
        const rights = new Map<number, Right>()
        for (const rid of await filter(found, 's', access, asking)) rights.set(rid, 's')
        for (const rid of await filter(referred, 'r', access, asking)) rights.set(rid, 'r')
        const next = new Map([...referred, ...found])
        // Newest first, like matches. The order of the statements' rows depends on the query plan, and thus on hidden
        // resources.
        const allowed = [...next.values()]
          .filter(({ rid }) => rights.has(rid))
          .sort((one, other) => other.rid - one.rid)
        for (const held of next.values()) seen.add(held.rid)
        const room = MAX_INCLUDED - shown.length
        isTruncated = allowed.length > room || (round === MAX_ROUNDS && allowed.length > 0)
        from = allowed.slice(0, room)
        for (const held of from) shown.push({ held, right: rights.get(held.rid) as Right })
      }
      return { versions: await contentOf(shown, access, asking), isTruncated }
    },
  }
}

export type Includer = ReturnType<typeof createIncluder>

/**
 * `_include` and `_revinclude`, which add resources that the matches refer to or that refer to them. They are found
 * in the index, without parsing resources. https://hl7.org/fhir/R4/search.html#revinclude
 */
import type { OwnUrl, Right } from '../../../kernel/index.ts'
import type { StoredVersion, TypeCodes } from '../../storage/service.ts'
import type { AccessFilter } from '../access/access-filter.ts'
import type { ParameterColumn } from '../definition/parameter.ts'
import { SearchChain } from '../errors.ts'
import type { Registry } from '../index/registry.ts'
import { createAliases, type TypeConditions } from '../query/clause-sql.ts'
import type { Criteria } from '../query/criteria.ts'
import type { JoinTargets, ReferenceJoins } from '../query/reference-join.ts'
import type { Include } from '../query/search-parameters.ts'
import { and, type Fragment, isIn, q, raw } from '../sql/fragment.ts'
import type { Deadline } from './deadline.ts'
import type { Executor } from './executor.ts'

/** Most included resources on a page. A warning in the Bundle says when there were more. */
export const MAX_INCLUDED = 1_000
const MAX_ROUNDS = 10
const MAX_FOUND = MAX_INCLUDED * 2 // most rows of one statement of a `_revinclude`
const NEWEST_FIRST = raw(' ORDER BY rid DESC')

export interface Included {
  readonly versions: readonly StoredVersion[]
  /** True when resources were left out because of a limit. */
  readonly isTruncated: boolean
}

export interface IncludeParts {
  readonly registry: Registry
  readonly criteria: Criteria
  readonly executor: Executor
  readonly types: TypeCodes
  readonly referenceJoins: ReferenceJoins
}

interface IncludedKey {
  readonly rid: number
  readonly type: string
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

export const createIncluder = ({ registry, criteria, executor, types, referenceJoins: linksOf }: IncludeParts) => {
  const codeOf = (type: string): number => types.code(type) ?? 0

  /** The reference columns that an include names on one type. Throws 400 when its parameter is not a reference. */
  const columnsOf = ({ parameter, text }: Include, type: string): readonly ParameterColumn[] => {
    if (parameter !== '*') {
      const found = criteria.parameterOf(type, parameter)
      if (found.type !== 'reference') throw SearchChain(text.slice(0, 100), `"${parameter}" is no reference`)
      return found.columns
    }
    return [...registry.parameters(type).values()]
      .filter((one) => one.type === 'reference')
      .flatMap((one) => criteria.complete(one).columns)
  }
  const check = (include: Include, known: (type: string) => boolean): void => {
    if (include.source === '*') return
    if (!known(include.source))
      throw SearchChain(include.text.slice(0, 100), `"${include.source.slice(0, 64)}" is no resource type`)
    if (include.target !== undefined && !known(include.target))
      throw SearchChain(include.text.slice(0, 100), `"${include.target.slice(0, 64)}" is no resource type`)
    columnsOf(include, include.source)
  }

  /** The targets of a join: one type, or all. */
  const endsOf = (only: string | undefined, all: readonly string[]): JoinTargets => ({
    types: only === undefined ? undefined : [codeOf(only)],
    canonicals: (only === undefined ? all : [only]).flatMap((type) => registry.canonicalColumn(type) ?? []),
  })

  const forward = async (
    include: Include,
    from: readonly IncludedKey[],
    all: readonly string[],
    ownUrl: OwnUrl | undefined,
  ) => {
    const { source, target } = include
    const statements: Fragment[] = []
    for (const [type, list] of Map.groupBy(from, (held) => held.type)) {
      if (source !== '*' && source !== type) continue
      const rids = isIn(
        'r.rid',
        list.map(({ rid }) => rid),
      )
      for (const [only, columns] of Map.groupBy(columnsOf(include, type), ({ refers }) => refers ?? target)) {
        if (target !== undefined && only !== target) continue
        for (const link of await linksOf(columns, endsOf(only, all), ownUrl))
          statements.push(
            q`SELECT DISTINCT s.rid AS rid, s.type AS type FROM ix_ref r CROSS JOIN ${raw(link.table)} t CROSS JOIN resource s WHERE ${rids} AND ${link.reference('r')} AND ${link.toTarget('r', 't')} AND ${link.target('t')} AND s.rid = t.rid`,
          )
      }
    }
    return statements
  }
  /** `where`: a condition on the referring resources, alias `s`. */
  const backward = async (
    include: Include,
    from: readonly IncludedKey[],
    all: readonly string[],
    ownUrl: OwnUrl | undefined,
    where: Fragment = raw('1 = 1'),
    order: Fragment = raw(''),
  ) => {
    const { source, target } = include
    const statements: Fragment[] = []
    for (const [type, list] of Map.groupBy(from, (held) => held.type)) {
      if (target !== undefined && target !== type) continue
      const columns = (source === '*' ? all : [source])
        .flatMap((one) => columnsOf(include, one))
        .filter(({ refers }) => refers === undefined || refers === type)
      const rids = isIn(
        't.rid',
        list.map(({ rid }) => rid),
      )
      for (const link of await linksOf(columns, endsOf(type, all), ownUrl))
        statements.push(
          q`SELECT DISTINCT s.rid AS rid, s.type AS type FROM ${raw(link.table)} t CROSS JOIN ix_ref r CROSS JOIN resource s WHERE ${link.target('t')} AND ${rids} AND ${link.reference('r')} AND ${link.toReference('r', 't')} AND s.rid = r.rid AND ${where}${order} LIMIT ${MAX_FOUND}`,
        )
    }
    return statements
  }

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
      const where = and([q`s.type = ${codeOf(source)}`, ...conditions.map((one) => one.checkSql('s', name))])
      statements.push(...(await backward({ ...include, source }, from, all, ownUrl, where, NEWEST_FIRST)))
    }
    return (await select(statements, seen, asking)).held
  }
  /** Resource keys of those that the right applies to. */
  const filter = async (
    held: ReadonlyMap<number, IncludedKey>,
    right: Right,
    access: AccessFilter,
    deadline: Deadline,
  ): Promise<readonly number[]> => {
    if (access.isUnrestricted) return [...held.keys()]
    const allowed: number[] = []
    for (const [type, list] of Map.groupBy(held.values(), (one) => one.type)) {
      const conditions = await access.conditions(type, right)
      if (conditions === undefined) continue
      const rids = list.map(({ rid }) => rid)
      if (conditions.length === 0) allowed.push(...rids)
      else allowed.push(...(await executor.filter({ type: codeOf(type), conditions }, rids, deadline)))
    }
    return allowed
  }

  /**
   * Reads the resources to return. Access is checked again in that statement, because they may have changed since
   * they were found.
   */
  const contentOf = async (
    shown: readonly { readonly held: IncludedKey; readonly right: Right }[],
    access: AccessFilter,
    deadline: Deadline,
  ): Promise<readonly StoredVersion[]> => {
    const rids = shown.map(({ held }) => held.rid)
    if (access.isUnrestricted) return executor.versions(rids, deadline)
    const read = new Map<number, StoredVersion>()
    for (const [right, list] of Map.groupBy(shown, (one) => one.right)) {
      const required: TypeConditions[] = []
      for (const type of new Set(list.map(({ held }) => held.type))) {
        const conditions = await access.conditions(type, right)
        if (conditions !== undefined) required.push({ type: codeOf(type), conditions })
      }
      const some = list.map(({ held }) => held.rid)
      for (const version of await executor.versions(some, deadline, required)) read.set(version.rid, version)
    }
    return rids.flatMap((rid) => read.get(rid) ?? [])
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

/**
 * Finds the resources that a set of resources refers to, page by page, newest first. The index has every Reference of
 * a resource, including those that no search parameter covers (index/unlisted-references.ts).
 * https://hl7.org/fhir/R4/references.html
 */
import type { OwnUrl } from '../../../kernel/index.ts'
import { CANONICAL, COLUMN_STEP } from '../definition/column-codes.ts'
import type { Registry } from '../index/registry.ts'
import { meets, type TypeConditions } from '../query/clause-sql.ts'
import { ownBase } from '../query/own-base.ts'
import type { PagePosition } from '../query/page-token.ts'
import type { Plan } from '../query/plan-contract.ts'
import { type Fragment, isIn, join, q, raw } from '../sql/fragment.ts'
import type { Deadline } from './deadline.ts'
import type { Executor } from './executor.ts'

export interface ReferredQuery {
  /** References of the matches of these plans are followed, */
  readonly plans: readonly Plan[]
  /** and those of these resources. */
  readonly rids: readonly number[]
  /** Conditions, by type, on the resources that are returned. */
  readonly targets: readonly TypeConditions[]
  readonly position: Pick<PagePosition, 'snapshotKey' | 'rid'>
  readonly limit: number
  readonly ownUrl: OwnUrl | undefined
}

export interface ReferredParts {
  readonly registry: Pick<Registry, 'hasher' | 'canonicalColumn' | 'canonicalColumns'>
  readonly executor: Pick<Executor, 'matches' | 'select'>
  /** Concrete resource types. */
  readonly typeNames: readonly string[]
}

/** The statement removes duplicates in the database, so only one page is in memory. */
export const createReferred = ({ registry, executor, typeNames }: ReferredParts) => {
  /**
   * Selects the targets of literal references under this server, relative or absolute. Throws 503 while a reference
   * column is incomplete.
   */
  const literals = (ownUrl: OwnUrl | undefined): Fragment => {
    const others = registry.canonicalColumns.join(', ') || '-1'
    const place = `r.param % ${COLUMN_STEP}`
    const base = ownBase(place, ownUrl === undefined ? undefined : registry.hasher.short(ownUrl))
    return q`SELECT t.rid AS rid, t.type AS type FROM (SELECT DISTINCT r.target - ${base} AS ref FROM s CROSS JOIN ix_ref r WHERE r.rid = s.rid AND r.param > 0 AND ${raw(place)} <> ${raw(String(CANONICAL))} AND r.param - ${raw(place)} NOT IN (${raw(others)})) g CROSS JOIN ix_res t WHERE t.ref = g.ref`
  }
  /** Selects the targets of canonicals. */
  const canonicals = (): Fragment => {
    const own = typeNames.flatMap((type) => registry.canonicalColumn(type) ?? [])
    return q`SELECT t.rid AS rid, t.type AS type FROM (SELECT DISTINCT r.target AS target FROM s CROSS JOIN ix_ref r WHERE r.rid = s.rid AND r.param > 0 AND r.param % ${raw(String(COLUMN_STEP))} = ${raw(String(CANONICAL))}) g CROSS JOIN ix_ref o CROSS JOIN resource t WHERE ${isIn('o.param', own)} AND o.target = g.target AND t.rid = o.rid`
  }
  const sourcesOf = async ({ plans, rids, position }: ReferredQuery, asking: Deadline): Promise<Fragment> => {
    const given = rids.map((rid) => q`SELECT CAST(${rid} AS bigint) AS rid`)
    const found = plans.length === 0 ? [] : [await executor.matches(plans, position.snapshotKey, asking)]
    return join([...given, ...found], ' UNION ALL ')
  }

  /** Returns the keys of at most `limit` resources below the position, without duplicates. */
  return async (query: ReferredQuery, asking: Deadline): Promise<readonly number[]> => {
    const { plans, rids, targets, position, limit, ownUrl } = query
    if (targets.length === 0 || plans.length + rids.length === 0) return []
    const rows = await executor.select<{ rid: number }>(
      q`WITH s(rid) AS MATERIALIZED (${await sourcesOf(query, asking)}) SELECT DISTINCT t.rid AS rid FROM (${literals(ownUrl)} UNION ALL ${canonicals()}) t WHERE t.rid <= ${position.snapshotKey} AND t.rid < ${position.rid} AND ${meets('t', targets)} ORDER BY rid DESC LIMIT ${limit}`,
      asking,
    )
    return rows.map(({ rid }) => rid)
  }
}

export type Referred = ReturnType<typeof createReferred>

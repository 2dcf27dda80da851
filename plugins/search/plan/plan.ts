/**
 * Chooses the clause that a search starts from. Short counts decide: the clause with the fewest rows is scanned, and
 * the others are checked for each resource. The SQL is written so that the database cannot choose another order.
 */

import type { RowSource as Queries } from '../../storage/service.ts'
import type { KeySource, SearchClause } from '../query/clause.ts'
import { checks, createAliases, unite } from '../query/clause-sql.ts'
import type { PagePosition } from '../query/page-token.ts'
import type { Plan, Planner } from '../query/plan-contract.ts'
import { type Fragment, join, q, raw } from '../sql/fragment.ts'
import type { StatementCache } from '../sql/statements.ts'
import type { RowEstimates } from './row-estimates.ts'

/** Limits of counts: counting stops at FEW rows, and if all clauses have that many, at MANY. */
const FEW = 64
const MANY = 2_000
/** Counts that may be the limit rather than the number of rows. */
export const SHORT_COUNTS: readonly number[] = [FEW, MANY]
/** Where all clauses have many rows: so many of the newest are read before another plan is tried. */
export const NEAR_ROWS = 5_000
/** Most sources that are read in order and merged. The rows of more sources are collected and sorted. */
const MAX_STREAMS = 8
export const isOrdered = ({ sources }: SearchClause): boolean =>
  sources !== undefined && sources.length <= MAX_STREAMS && sources.every(({ isOrdered: ordered }) => ordered)

/** `older` reads matches from the newest on, `newer` reads back towards the newest. */
export type Direction = 'older' | 'newer'

/**
 * Selects the `limit` matches next to `from`: for `older` the newest below it, newest first; for `newer` the oldest
 * above it, oldest first. `near`: reads only so many rows of the driving clause.
 */
export const nextTo = (
  plan: Plan,
  { snapshotKey, rid: from }: Pick<PagePosition, 'snapshotKey' | 'rid'>,
  limit: number,
  direction: Direction,
  near?: number,
): Fragment => {
  const name = createAliases()
  const [beyond, order] = direction === 'older' ? [raw('<'), raw('DESC')] : [raw('>'), raw('ASC')]
  const within = (d: string): Fragment => q`${raw(d)}.rid <= ${snapshotKey} AND ${raw(d)}.rid ${beyond} ${from}`
  /** `rows` returns the table and condition of the driving clause for an alias. */
  const range = (d: string, rows: (n: string) => Fragment): Fragment =>
    near === undefined
      ? within(d)
      : q`${within(d)} AND ${raw(d)}.rid > coalesce((SELECT n.rid FROM ${rows('n')} AND ${within('n')} ORDER BY n.rid DESC LIMIT 1 OFFSET ${raw(`${near}`)}), 0)`
  const { drivingClause } = plan
  if (drivingClause?.sources === undefined) {
    const ofType = (d: string): Fragment => q`ix_res ${raw(d)} WHERE ${raw(d)}.type = ${plan.type}`
    return q`SELECT d.rid AS rid FROM ${ofType('d')} AND ${range('d', ofType)}${checks(plan, 'd', name)} ORDER BY d.rid ${order} LIMIT ${limit}`
  }
  if (!plan.isOrdered)
    // The plus keeps the database from scanning the range of resource keys: the driving clause has fewer rows.
    return q`SELECT rid FROM (SELECT DISTINCT d.rid AS rid FROM (${unite(drivingClause.sources)}) d WHERE +d.rid <= ${snapshotKey} AND +d.rid ${beyond} ${from}${checks(plan, 'd', name)}) u ORDER BY rid ${order} LIMIT ${limit}`
  const streams = drivingClause.sources.map(
    ({ keysSql }) =>
      q`SELECT d.rid AS rid FROM (${keysSql}) d WHERE ${range('d', (n) => q`(${keysSql}) ${raw(n)} WHERE 1 = 1`)}${checks(plan, 'd', name)} ORDER BY d.rid ${order} LIMIT ${limit}`,
  )
  if (streams.length === 1) return streams[0] as Fragment
  const parts = streams.map((stream, at) => q`SELECT rid FROM (${stream}) ${raw(`s${at}`)}`)
  return q`SELECT rid FROM (${join(parts, ' UNION ')}) u ORDER BY rid ${order} LIMIT ${limit}`
}

/** Counts the rows of a clause, up to `most`, as the column `n0`, `n1`, … */
export const countOf = (clause: Fragment, most: number, at: number): Fragment =>
  q`(SELECT count(*) FROM (SELECT 1 AS one FROM (${clause}) y LIMIT ${most}) z) AS ${raw(`n${at}`)}`

/** `rowEstimates`: earlier counts. Undefined inside a transaction, where nothing is cached. */
export const createPlanner = (
  source: Queries,
  statements: StatementCache,
  rowEstimates: RowEstimates | undefined,
): Planner => {
  /** Counts the rows of each clause, up to `most`. */
  const count = async (clauses: readonly Fragment[], most: number): Promise<readonly number[]> => {
    const counts = clauses.map((clause, at) => countOf(clause, most, at))
    const { text, params } = q`SELECT ${join(counts, ', ')}`
    const row = await source.get<Record<string, number>>(statements(text), params)
    return clauses.map((clause, at) => {
      const rows = Number(row?.[`n${at}`] ?? 0)
      rowEstimates?.set(clause, rows)
      return rows
    })
  }
  /** Counts the clauses for whose size `isOpen` returns true, and sets their sizes. */
  const fill = async (
    found: (number | undefined)[],
    clauses: readonly Fragment[],
    most: number,
    isOpen: (size: number | undefined) => boolean,
  ): Promise<void> => {
    const open = found.flatMap((size, at) => (isOpen(size) ? [at] : []))
    if (open.length === 0) return
    const counted = await count(
      open.map((at) => clauses[at] as Fragment),
      most,
    )
    for (const [n, at] of open.entries()) found[at] = counted[n]
  }
  const sizesOf = async (conditions: readonly SearchClause[]): Promise<readonly number[]> => {
    const clauses = conditions.map(({ sources }) => unite(sources as readonly KeySource[]))
    const found = clauses.map((clause) => rowEstimates?.get(clause))
    await fill(found, clauses, FEW, (size) => size === undefined)
    // Each clause matches at least FEW rows: count up to MANY, to find the clause with the fewest.
    if (found.every((size) => (size as number) >= FEW)) await fill(found, clauses, MANY, (size) => size === FEW)
    return found as number[]
  }

  return async (type, given, isInner = false) => {
    const conditions = given.flatMap((one) => one.all ?? [one])
    const candidates = conditions.filter(({ sources, size }) => sources !== undefined && size === undefined)
    const sized = conditions.filter(({ sources, size }) => sources !== undefined && size !== undefined)
    const none: Plan = {
      type,
      conditions,
      candidates,
      drivingClause: undefined,
      size: MANY,
      isEstimate: true,
      isOrdered: true,
    }
    if (candidates.length + sized.length === 0) return none
    const [only] = candidates
    // One clause that is read in order needs no count: its newest rows are the page.
    if (!isInner && conditions.length === 1 && only !== undefined && isOrdered(only))
      return { type, conditions, candidates, drivingClause: only, size: MANY, isEstimate: true, isOrdered: true }
    const counted = await sizesOf(candidates)
    const ranked = [
      ...candidates.map((clause, at) => ({ condition: clause, size: counted[at] as number })),
      ...sized.map((clause) => ({ condition: clause, size: clause.size as number })),
    ].sort(
      (one, other) => one.size - other.size || Number(isOrdered(other.condition)) - Number(isOrdered(one.condition)),
    )
    const { condition: driver, size } = ranked[0] as (typeof ranked)[number]
    const isEstimate = size >= MANY
    // A clause with so many rows is too expensive to check for each resource, so the search starts from it.
    const dear = isEstimate ? sized.find((one) => (one.size as number) >= MANY) : undefined
    if (dear !== undefined)
      return {
        type,
        conditions,
        candidates,
        drivingClause: dear,
        size: dear.size as number,
        isEstimate: false,
        isOrdered: false,
      }
    const ordered = isOrdered(driver)
    // Where all clauses have many rows, sorting those of one costs more than scanning the newest resources.
    return isEstimate && !ordered
      ? none
      : { type, conditions, candidates, drivingClause: driver, size, isEstimate, isOrdered: ordered }
  }
}

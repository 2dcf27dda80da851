/**
 * Which clause a search starts from. Short counts decide: the rarest clause is scanned, the others are checked one
 * resource at a time, and the text of the statement leaves the database no other order.
 */

import type { Source as Queries } from '../../storage/service.ts'
import type { Condition, Source } from '../query/clause.ts'
import { checks, createNames, unite } from '../query/clause-sql.ts'
import type { PagePosition } from '../query/page-token.ts'
import type { Plan, Planner } from '../query/plan-contract.ts'
import type { Walk } from '../query/walk.ts'
import { type Fragment, join, q, raw } from '../sql/fragment.ts'
import type { Statements } from '../sql/statements.ts'
import type { Sizes } from './row-estimates.ts'

/** Counting stops here: first among few, then among many. */
const FEW = 64
const MANY = 2_000
/** What a count that ended early says. */
export const SHORT_COUNTS: readonly number[] = [FEW, MANY]
/** Where all is long: of the newest rows, how many are gone through before another way is looked for. */
export const NEAR = 5_000
/** Sources read in order and merged; more are collected and sorted. */
const MOST_STREAMS = 8
export const isOrdered = ({ sources }: Condition): boolean =>
  sources !== undefined && sources.length <= MOST_STREAMS && sources.every(({ ordered }) => ordered)

/** Matches along an index that is in the order asked for, from behind a position; or against it, from before one. */
export const along = (
  plan: Plan,
  { table, column, parts, once }: Walk,
  descending: boolean,
  { pin, rid }: PagePosition,
  keys: readonly (string | number)[],
  limit: number,
  direction: Direction,
): Fragment => {
  const name = createNames()
  const value = raw(`w.${column}`)
  const [last] = keys
  const isOnward = direction === 'older'
  const isFalling = descending === isOnward
  const [order, ridOrder] = [raw(isFalling ? 'DESC' : 'ASC'), raw(isOnward ? 'DESC' : 'ASC')]
  const after =
    last === undefined
      ? raw('1 = 1')
      : q`${value} ${raw(isFalling ? '<=' : '>=')} ${last} AND (${value} <> ${last} OR w.rid ${raw(isOnward ? '<' : '>')} ${rid})`
  const tests = join(
    plan.conditions.map((one) => q` AND ${one.probe('w', name)}`),
    '',
  )
  const streams = parts.map(
    (part, at) =>
      q`SELECT * FROM (SELECT w.rid AS rid, ${value} AS s0 FROM ${raw(table)} w WHERE ${part} AND ${after} AND +w.rid <= ${pin} AND ${once}${tests} ORDER BY ${value} ${order}, w.rid ${ridOrder} LIMIT ${limit}) ${raw(`w${at}`)}`,
  )
  return q`SELECT rid, s0 FROM (${join(streams, ' UNION ALL ')}) k ORDER BY s0 ${order}, rid ${ridOrder} LIMIT ${limit}`
}

/** Which way matches are read: from the newest on, or back up to it. */
export type Direction = 'older' | 'newer'

/**
 * The `limit` matches next to `from`: below it the newest, newest first, or above it the oldest, oldest first. `near`: of
 * the first so many rows of where it starts.
 */
export const nextTo = (
  plan: Plan,
  { pin, rid: from }: Pick<PagePosition, 'pin' | 'rid'>,
  limit: number,
  direction: Direction,
  near?: number,
): Fragment => {
  const name = createNames()
  const [beyond, order] = direction === 'older' ? [raw('<'), raw('DESC')] : [raw('>'), raw('ASC')]
  const within = (d: string): Fragment => q`${raw(d)}.rid <= ${pin} AND ${raw(d)}.rid ${beyond} ${from}`
  /** `rows`: alias and condition of where it starts. */
  const range = (d: string, rows: (n: string) => Fragment): Fragment =>
    near === undefined
      ? within(d)
      : q`${within(d)} AND ${raw(d)}.rid > coalesce((SELECT n.rid FROM ${rows('n')} AND ${within('n')} ORDER BY n.rid DESC LIMIT 1 OFFSET ${raw(`${near}`)}), 0)`
  const { driver } = plan
  if (driver?.sources === undefined) {
    const ofType = (d: string): Fragment => q`ix_res ${raw(d)} WHERE ${raw(d)}.type = ${plan.type}`
    return q`SELECT d.rid AS rid FROM ${ofType('d')} AND ${range('d', ofType)}${checks(plan, 'd', name)} ORDER BY d.rid ${order} LIMIT ${limit}`
  }
  if (!plan.ordered)
    // The plus keeps the range of rids from being what is scanned: the rarest clause is.
    return q`SELECT rid FROM (SELECT DISTINCT d.rid AS rid FROM (${unite(driver.sources)}) d WHERE +d.rid <= ${pin} AND +d.rid ${beyond} ${from}${checks(plan, 'd', name)}) u ORDER BY rid ${order} LIMIT ${limit}`
  const streams = driver.sources.map(
    ({ rids }) =>
      q`SELECT d.rid AS rid FROM (${rids}) d WHERE ${range('d', (n) => q`(${rids}) ${raw(n)} WHERE 1 = 1`)}${checks(plan, 'd', name)} ORDER BY d.rid ${order} LIMIT ${limit}`,
  )
  if (streams.length === 1) return streams[0] as Fragment
  const parts = streams.map((stream, at) => q`SELECT rid FROM (${stream}) ${raw(`s${at}`)}`)
  return q`SELECT rid FROM (${join(parts, ' UNION ')}) u ORDER BY rid ${order} LIMIT ${limit}`
}

/** How many rows a clause gives, up to `most`, as the column `n0`, `n1`, … */
export const countOf = (clause: Fragment, most: number, at: number): Fragment =>
  q`(SELECT count(*) FROM (SELECT 1 AS one FROM (${clause}) y LIMIT ${most}) z) AS ${raw(`n${at}`)}`

/** `sizes`: what was counted before; undefined inside a transaction, where nothing is kept. */
export const createPlanner = (source: Queries, statements: Statements, sizes: Sizes | undefined): Planner => {
  /** How many rows each clause gives, up to `most`. */
  const count = async (clauses: readonly Fragment[], most: number): Promise<readonly number[]> => {
    const counts = clauses.map((clause, at) => countOf(clause, most, at))
    const { text, params } = q`SELECT ${join(counts, ', ')}`
    const row = await source.get<Record<string, number>>(statements(text), params)
    return clauses.map((clause, at) => {
      const rows = Number(row?.[`n${at}`] ?? 0)
      sizes?.set(clause, rows)
      return rows
    })
  }
  /** Counts those of which `isOpen` is true, and puts their numbers in place. */
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
  const sizesOf = async (conditions: readonly Condition[]): Promise<readonly number[]> => {
    const clauses = conditions.map(({ sources }) => unite(sources as readonly Source[]))
    const found = clauses.map((clause) => sizes?.get(clause))
    await fill(found, clauses, FEW, (size) => size === undefined)
    // All are long: which is the shortest?
    if (found.every((size) => (size as number) >= FEW)) await fill(found, clauses, MANY, (size) => size === FEW)
    return found as number[]
  }

  return async (type, given) => {
    const conditions = given.flatMap((one) => one.all ?? [one])
    const able = conditions.filter(({ sources, size }) => sources !== undefined && size === undefined)
    const sized = conditions.filter(({ sources, size }) => sources !== undefined && size !== undefined)
    const none: Plan = { type, conditions, able, driver: undefined, size: MANY, many: true, ordered: true }
    if (able.length + sized.length === 0) return none
    const [only] = able
    // One clause that is read in order needs no count: its newest rows are the page.
    if (conditions.length === 1 && only !== undefined && isOrdered(only))
      return { type, conditions, able, driver: only, size: MANY, many: true, ordered: true }
    const counted = await sizesOf(able)
    const ranked = [
      ...able.map((condition, at) => ({ condition, size: counted[at] as number })),
      ...sized.map((condition) => ({ condition, size: condition.size as number })),
    ].sort(
      (one, other) => one.size - other.size || Number(isOrdered(other.condition)) - Number(isOrdered(one.condition)),
    )
    const { condition: driver, size } = ranked[0] as (typeof ranked)[number]
    const many = size >= MANY
    const ordered = isOrdered(driver)
    // Where all are long, one that has to be sorted first costs more than going through the newest.
    return many && !ordered ? none : { type, conditions, able, driver, size, many, ordered }
  }
}

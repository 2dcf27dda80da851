/**
 * Limits the number of quota rows of addresses without a token: in each period the heaviest keep their rows, the others
 * are added up in one. Several servers may do this at the same time.
 */
import { type Database, sql } from '../database/service.ts'
import type { Periods } from './period.ts'
import type { QuotaLimit } from './quota-limits.ts'
import { addQuota, type Totals } from './tables.ts'

/** The holder of the usage of all addresses without a row of their own. */
export const OTHERS = 'addresses'

const AT_ONCE = 20_000 // rows that one transaction adds up
const DAY_MS = 86_400_000

// The weight is the sum of the shares of the limits, so at least the share of each.
const takeLightest = sql(
  'limits.quota.take-lightest',
  "DELETE FROM limits_quota WHERE period = ? AND holder IN (SELECT holder FROM limits_quota WHERE period = ? AND holder LIKE 'address %' ORDER BY requests * CAST(? AS double precision) + writes * CAST(? AS double precision) + bytes * CAST(? AS double precision) DESC, holder LIMIT ? OFFSET ?) RETURNING requests, writes, bytes",
)
// A past day is read only by a server whose clock is late.
const pruneDays = sql(
  'limits.quota.prune-days',
  "DELETE FROM limits_quota WHERE period < ? AND length(period) = 10 AND holder LIKE 'address%'",
)

/** Weight of one unit of requests, writes and bytes, from the limits of addresses. */
const weightsOf = (limits: readonly QuotaLimit[], span: QuotaLimit['in']): readonly number[] =>
  (['requests', 'writes', 'bytes'] as const).map((of) => {
    const limit = limits.find((one) => one.of === of && one.in === span) ?? limits.find((one) => one.of === of)
    return limit === undefined ? 0 : 1 / limit.most
  })

const sumOf = (rows: readonly Totals[]): Totals => {
  const sum: Totals = { requests: 0, writes: 0, bytes: 0 }
  for (const { requests, writes, bytes } of rows) {
    sum.requests += requests
    sum.writes += writes
    sum.bytes += bytes
  }
  return sum
}

export const foldAddresses = async (
  database: Database,
  { day, month, start }: Periods,
  limits: readonly QuotaLimit[],
  most: number,
): Promise<void> => {
  const foldSome = (period: string, weights: readonly number[]): Promise<number> =>
    database.transact(
      async (transaction) => {
        const rows = await transaction.all<Totals>(takeLightest, [period, period, ...weights, AT_ONCE, most])
        const { requests, writes, bytes } = sumOf(rows)
        if (rows.length > 0) await transaction.get(addQuota, [OTHERS, period, requests, writes, bytes])
        return rows.length
      },
      { shared: true },
    )
  for (const [period, span] of [
    [day, 'day'],
    [month, 'month'],
  ] as const)
    while ((await foldSome(period, weightsOf(limits, span))) === AT_ONCE);
  if (database.isReader) return
  await database.transact((transaction) =>
    transaction.run(pruneDays, [new Date(start - DAY_MS).toISOString().slice(0, 10)]),
  )
}

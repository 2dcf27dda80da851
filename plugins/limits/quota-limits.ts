/** Which quotas a caller has: its client's own, field by field, over those of all. Spec: [quota], [quota.clients]. */
import type { Static } from 'typebox'
import type { Caller } from '../../kernel/index.ts'
import { QUOTAS, type QuotaName, type quotaSection } from './config.ts'

export type QuotaConfig = Static<typeof quotaSection>

/** One limit, e.g. 1000 requests in a day. */
export interface QuotaLimit {
  readonly of: 'requests' | 'writes' | 'bytes'
  readonly in: 'day' | 'month'
  readonly most: number
}

const limitsOf = (config: Partial<Record<QuotaName, number>>): readonly QuotaLimit[] =>
  QUOTAS.flatMap((name) => {
    const most = config[name]
    // 0 lifts a limit that is there for all.
    if (most === undefined || most === 0) return []
    const [of, , span] = name.split('_') as [QuotaLimit['of'], 'per', QuotaLimit['in']]
    return [{ of, in: span, most }]
  })

/** True when there is a limit for anybody. */
export const hasQuotas = (config: QuotaConfig): boolean =>
  [config, ...Object.values(config.clients)].some((one) => limitsOf(one).length > 0)

/** True when somebody's writes are limited: only then are they counted. */
export const limitsWrites = (config: QuotaConfig): boolean =>
  [config, ...Object.values(config.clients)].some((one) => limitsOf(one).some((limit) => limit.of === 'writes'))

/** Gives an empty list for a caller without a limit. */
export const createQuotaLimits = (config: QuotaConfig): ((caller: Caller) => readonly QuotaLimit[]) => {
  const common = limitsOf(config)
  const clients = new Map(
    Object.entries(config.clients).map(([client, own]) => [client, limitsOf({ ...config, ...own })]),
  )
  return ({ kind, client }) => {
    if (kind === 'internal') return []
    return (client === undefined ? undefined : clients.get(client)) ?? common
  }
}

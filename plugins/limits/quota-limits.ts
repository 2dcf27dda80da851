/**
 * The quotas of a caller: its client's own settings, key by key, over the common ones. Spec: [quota], [quota.clients].
 */
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
    // 0 removes the common limit for this client.
    if (most === undefined || most === 0) return []
    const [of, , span] = name.split('_') as [QuotaLimit['of'], 'per', QuotaLimit['in']]
    return [{ of, in: span, most }]
  })

/** True when any caller has a quota. */
export const hasQuotas = (config: QuotaConfig): boolean =>
  [config, ...Object.values(config.clients)].some((one) => limitsOf(one).length > 0)

/** True when any caller has a quota of writes: only then are writes counted. */
export const limitsWrites = (config: QuotaConfig): boolean =>
  [config, ...Object.values(config.clients)].some((one) => limitsOf(one).some((limit) => limit.of === 'writes'))

/** Returns an empty list for a caller without a quota. */
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

/**
 * The rate of a caller: its client's own, that of addresses, or the common one. Spec: [rate_limit],
 * [rate_limit.clients].
 */
import type { Static } from 'typebox'
import type { Caller } from '../../kernel/index.ts'
import type { Rate } from './buckets.ts'
import type { costSection, rateLimitSection } from './config.ts'
import { BurstSmall } from './errors.ts'

export type RateLimitConfig = Static<typeof rateLimitSection>
export type Costs = Static<typeof costSection>

const ANONYMOUS_PART = 0.1 // spec: a tenth of the limit with tokens

/**
 * Throws when a burst is smaller than the cost of a class of requests, which could then never pass; the error names
 * both.
 */
export const checkBursts = (config: RateLimitConfig, costs: Costs): void => {
  const [name, dearest] = Object.entries(costs).reduce((one, other) => (other[1] > one[1] ? other : one))
  const check = (section: string, key: string, burst: number | undefined): void => {
    if (burst !== undefined && burst < dearest) throw BurstSmall(section, key, burst, name, dearest)
  }
  check('rate_limit', 'burst', config.burst)
  check('rate_limit', 'anonymous_burst', config.anonymous_burst)
  for (const [client, { burst }] of Object.entries(config.clients))
    check(`rate_limit.clients.${client}`, 'burst', burst)
}

/** `hasTokens`: whether a plugin authenticates callers. The function returns undefined for a caller without a limit. */
export const createRates = (config: RateLimitConfig, hasTokens: boolean): ((caller: Caller) => Rate | undefined) => {
  const common: Rate = { perSecond: config.requests_per_second, burst: config.burst }
  const part = hasTokens ? ANONYMOUS_PART : 1
  const anonymous: Rate = {
    perSecond: config.anonymous_requests_per_second ?? common.perSecond * part,
    burst: config.anonymous_burst ?? common.burst * part,
  }
  const clients = new Map(
    Object.entries(config.clients).map(([client, own]): [string, Rate | undefined] => [
      client,
      own.requests_per_second === 0
        ? undefined
        : { perSecond: own.requests_per_second ?? common.perSecond, burst: own.burst ?? common.burst },
    ]),
  )
  return ({ kind, client }) => {
    if (kind === 'internal') return undefined
    if (client === undefined) return anonymous
    return clients.has(client) ? clients.get(client) : common
  }
}

/** The rate limit of requests: takes the cost from the caller's bucket, and reports in headers what is left. */
import type { Clock, RequestContext, ServerError } from '../../kernel/index.ts'
import { type Buckets, createBuckets, type Rate } from './buckets.ts'
import { callerKey } from './caller-key.ts'
import { RateLimited } from './errors.ts'
import type { Costs } from './rates.ts'
import type { ServerShare } from './server-share.ts'

/** Maximum number of buckets, of about 200 bytes each. */
export const MAX_BUCKETS = 20_000

export interface RateLimitParts {
  readonly clock: Clock
  readonly costs: Costs
  /** Undefined for a caller without a limit. */
  readonly rateOf: (caller: RequestContext['caller']) => Rate | undefined
  readonly share: ServerShare
}

export interface RateLimit {
  /** Takes the cost, or returns the refusal and takes nothing. */
  take(request: RequestContext): ServerError | undefined
  /** Returns the cost of a request that was refused for another reason. */
  giveBack(request: RequestContext): void
  readonly buckets: Buckets
}

/** Fields of https://datatracker.ietf.org/doc/draft-ietf-httpapi-ratelimit-headers/11/ */
const setRateHeaders = (request: RequestContext, { perSecond, burst }: Rate, tokens: number): void => {
  const window = Math.max(1, Math.ceil(burst / perSecond))
  const full = Math.ceil((burst - tokens) / perSecond)
  request.setHeader('ratelimit-policy', `"default";q=${Math.floor(burst)};w=${window}`)
  request.setHeader('ratelimit', `"default";r=${Math.max(0, Math.floor(tokens))};t=${full}`)
}

export const createRateLimit = ({ clock, costs, rateOf, share }: RateLimitParts): RateLimit => {
  const buckets = createBuckets(() => clock.monotonic() - share.pausedMs(), MAX_BUCKETS)
  const costOf = ({ requestClass }: RequestContext): number => costs[requestClass === 'admin' ? 'search' : requestClass]

  /** This server's part of each rate, calculated once for each share. */
  const parts = new Map<Rate, Rate>()
  let fraction = 1
  const partOf = (rate: Rate): Rate => {
    if (share.fraction !== fraction) {
      fraction = share.fraction
      parts.clear()
    }
    if (fraction === 1) return rate
    let part = parts.get(rate)
    if (part === undefined) {
      part = { perSecond: rate.perSecond * fraction, burst: rate.burst * fraction }
      parts.set(rate, part)
    }
    return part
  }
  return {
    take(request) {
      if (request.relayed === 'received') return undefined // limited by the server that sent it
      const whole = rateOf(request.caller)
      if (whole === undefined) return undefined
      const rate = partOf(whole)
      const cost = costOf(request)
      const { waitMs, tokens } = buckets.take(callerKey(request), rate, cost)
      setRateHeaders(request, rate, tokens)
      if (waitMs === 0) return undefined
      const seconds = Math.max(1, Math.ceil((waitMs + share.remainingPauseMs()) / 1000))
      return RateLimited(cost, Number(rate.perSecond.toFixed(3)), seconds).with({
        headers: { 'retry-after': String(seconds) },
      })
    },
    giveBack: (request) => buckets.giveBack(callerKey(request), costOf(request)),
    buckets,
  }
}

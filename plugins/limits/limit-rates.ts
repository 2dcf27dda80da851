/** Assembles the rate limit: shares, rates, and the service for other plugins. */
import type { Clock, Logger, Random, Runners } from '../../kernel/index.ts'
import type { Database } from '../database/service.ts'
import { createAuthFailures } from './auth-failures.ts'
import { BEAT_MS, createHeartbeat } from './heartbeat.ts'
import { createRateLimit, type RateLimit } from './rate-limit.ts'
import { type Costs, checkBursts, createRates, type RateLimitConfig } from './rates.ts'
import { createCountedShare, fixedShare } from './server-share.ts'
import type { Limits } from './service.ts'
import { createSyncLimit } from './sync-limit.ts'

export interface LimitedRates {
  readonly rateLimit: RateLimit
  readonly service: Limits
  start(): Promise<void>
  stop(): Promise<void>
}

export interface LimitRatesParts {
  readonly config: RateLimitConfig
  readonly costs: Costs
  readonly database: Database
  readonly run: Runners
  readonly clock: Clock
  readonly random: Random
  readonly log: Logger
}

/** Throws when a burst is smaller than the cost of a class of requests, which could then never pass. */
export const limitRates = ({ config, costs, database, run, clock, random, log }: LimitRatesParts): LimitedRates => {
  checkBursts(config, costs)
  const counted =
    // A database in memory has only one server.
    config.servers === undefined && database.kind !== 'memory' ? createCountedShare(clock, BEAT_MS) : undefined
  const share = counted ?? fixedShare(config.servers ?? 1)
  const heartbeat = counted && createHeartbeat({ database, share: counted, clock, random, log })
  let rateOf: ReturnType<typeof createRates> | undefined
  return {
    rateLimit: createRateLimit({
      clock,
      costs,
      share,
      // Created at the first request: only then is it known whether a plugin authenticates callers.
      rateOf: (caller) => {
        rateOf ??= createRates(config, run.authenticate !== null)
        return rateOf(caller)
      },
    }),
    service: {
      authFailures: createAuthFailures(clock, config.auth_failures_per_minute),
      sync: createSyncLimit(config.max_sync_connections, config.max_live_queries),
    },
    start: async () => heartbeat?.start(),
    stop: async () => heartbeat?.stop(),
  }
}

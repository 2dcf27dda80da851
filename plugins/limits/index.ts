/**
 * Rate limits and quotas: how many requests a caller may make per second, and how much a client may use per day and
 * month. Spec: Limits.
 */
import { definePlugin } from '../../kernel/index.ts'
import { Database } from '../database/service.ts'
import { createAdmission } from './admission.ts'
import { costSection, quotaSection, rateLimitSection } from './config.ts'
import * as errors from './errors.ts'
import { limitRates } from './limit-rates.ts'
import { createQuota } from './quota.ts'
import { createQuotaLimits, hasQuotas, limitsWrites } from './quota-limits.ts'
import { Limits } from './service.ts'
import { limitsMigrations } from './tables.ts'
import { unlimited } from './unlimited.ts'

export default definePlugin({
  name: 'limits',
  description: 'Limits how fast a caller may ask and how much a client may use',
  config: { rate_limit: rateLimitSection, 'rate_limit.cost': costSection, quota: quotaSection },
  needs: { database: Database },
  provides: [Limits],
  migrations: limitsMigrations,
  errors,
  enabled: ({ rate_limit, quota }) => rate_limit.enabled || quota.enabled,
  setup({ config, hooks, run, provide, needs: { database }, clock, random, log }) {
    const { rate_limit, 'rate_limit.cost': costs, quota: quotas } = config
    const rates = rate_limit.enabled
      ? limitRates({ config: rate_limit, costs, database, run, clock, random, log })
      : undefined
    const quota =
      quotas.enabled && hasQuotas(quotas)
        ? createQuota({
            database,
            clock,
            log,
            refreshSeconds: quotas.refresh_seconds,
            limitsOf: createQuotaLimits(quotas),
            mostAddresses: quotas.most_addresses,
          })
        : undefined
    provide(Limits, rates?.service ?? unlimited)
    if (rates !== undefined && quota !== undefined)
      hooks.admit.tapPromise('limit', createAdmission(rates.rateLimit, quota))
    else if (rates !== undefined) hooks.admit.tap('limit', rates.rateLimit.take)
    else if (quota !== undefined) hooks.admit.tapPromise('limit', async (request) => quota.take(request))
    if (quota !== undefined) {
      hooks.meter.tap('count bytes', quota.countBytes)
      if (limitsWrites(quotas)) hooks.onCommit.tap('count writes', quota.countWrites)
    }
    return {
      start: async () => void (await Promise.all([rates?.start(), quota?.start()])),
      stop: async () => void (await Promise.all([rates?.stop(), quota?.stop()])),
    }
  },
})

/** Checks both limits, so that a request that one refuses uses nothing of the other. */
import type { RequestContext, ServerError } from '../../kernel/index.ts'
import type { Quota } from './quota.ts'
import type { RateLimit } from './rate-limit.ts'

/** The rate limit comes first, because it needs no database query. */
export const createAdmission =
  (rateLimit: RateLimit, quota: Quota) =>
  async (request: RequestContext): Promise<ServerError | undefined> => {
    const refusal = rateLimit.take(request)
    if (refusal !== undefined) return refusal
    try {
      const used = await quota.take(request)
      if (used !== undefined) rateLimit.giveBack(request)
      return used
    } catch (error) {
      rateLimit.giveBack(request)
      throw error
    }
  }

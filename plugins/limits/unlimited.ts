/** The service while only quotas are configured: it refuses nothing. */
import type { Limits } from './service.ts'

const nothing = (): void => undefined

export const unlimited: Limits = Object.freeze({
  authFailures: { begin: nothing as () => undefined, succeeded: nothing },
  sync: { connect: () => ({ openQuery: nothing, closeQuery: nothing, close: nothing }) },
})

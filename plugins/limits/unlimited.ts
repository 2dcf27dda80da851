/** What other plugins are told while only quotas are on: there is no limit of theirs. */
import type { Limits } from './service.ts'

const nothing = (): void => undefined

export const unlimited: Limits = Object.freeze({
  authFailures: { begin: nothing as () => undefined, succeeded: nothing },
  sync: { connect: () => ({ openQuery: () => nothing, close: nothing }) },
})

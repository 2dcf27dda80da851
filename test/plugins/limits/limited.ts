/** A server of a few addresses, one for each class of request, with limits on a clock that the test moves. */
import type { Response } from 'light-my-request'
import {
  type AnyPlugin,
  createKernel,
  definePlugin,
  type Kernel,
  REQUEST_CLASSES,
  type RequestClass,
} from '../../../kernel/index.ts'
import database from '../../../plugins/database/index.ts'
import limits from '../../../plugins/limits/index.ts'
import probes from '../../../plugins/probes/index.ts'
import { createManualClock, type ManualClock } from '../../support/manual-clock.ts'
import { named } from '../../support/named-callers.ts'

/** `/read`, `/search`, … */
const addresses: AnyPlugin = definePlugin({
  name: 'addresses',
  setup({ routes }) {
    routes((app, _options, done) => {
      for (const requestClass of REQUEST_CLASSES)
        app.all(`/${requestClass}`, { config: { requestClass } }, async () => ({ done: requestClass }))
      done()
    })
  },
})

export interface Asking {
  readonly client?: string
  readonly user?: string
  readonly address?: string
}

export interface Limited {
  readonly kernel: Kernel
  readonly clock: ManualClock
  ask(requestClass: RequestClass, who?: Asking): Promise<Response>
  /** How many of so many requests at once pass. */
  passing(count: number, requestClass?: RequestClass, who?: Asking): Promise<number>
}

export interface LimitedOptions {
  readonly settings: Record<string, unknown>
  readonly clock?: ManualClock
  /** In place of the database. */
  readonly database?: AnyPlugin
  /** False for a server whose callers have no tokens. */
  readonly tokens?: boolean
  readonly more?: readonly AnyPlugin[]
}

/** The caller stops it. */
export const limited = async (options: LimitedOptions): Promise<Limited> => {
  const { clock = createManualClock(), tokens = true, more = [] } = options
  const plugins = [options.database ?? database, ...(tokens ? [named] : []), addresses, ...more, limits, probes]
  const settings = { database: { kind: 'memory' }, ...options.settings }
  const kernel = await createKernel({ plugins, settings, clock, log: { level: 'silent' } })
  await kernel.start()
  const ask: Limited['ask'] = (requestClass, { client, user, address } = {}) =>
    kernel.inject({
      url: `/${requestClass}`,
      ...(address !== undefined && { remoteAddress: address }),
      headers: { ...(client && { 'x-test-client': client }), ...(user && { 'x-test-user': user }) },
    })
  return {
    kernel,
    clock,
    ask,
    async passing(count, requestClass = 'read', who = { client: 'app' }) {
      let passed = 0
      for (let n = 0; n < count; n += 1) if ((await ask(requestClass, who)).statusCode === 200) passed += 1
      return passed
    },
  }
}

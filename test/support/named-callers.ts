/** A plugin that trusts the headers `X-Test-Client` and `X-Test-User` to name the caller. */
import { type AnyPlugin, definePlugin } from '../../kernel/index.ts'

export const named: AnyPlugin = definePlugin({
  name: 'named-callers',
  setup({ hooks }) {
    hooks.authenticate.tap('as told', ({ headers }) => {
      const { 'x-test-client': client, 'x-test-user': user } = headers
      if (typeof client !== 'string') return undefined
      return typeof user === 'string' ? { kind: 'user', client, user } : { kind: 'client', client }
    })
  },
})

/** Who makes a request of a bare route: these pass no hook, and some of what they show is not for everybody. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { ANONYMOUS, type Caller } from './context.ts'
import type { Runners } from './freeze.ts'
import type { ContextBuilder } from './request-context.ts'

/**
 * Runs `authenticate`, and throws its errors. `route` is the path as it was declared. Undefined where no plugin
 * authenticates callers: then there is no token to ask for.
 */
export type Identify = (
  request: IncomingMessage,
  response: ServerResponse,
  route: string,
) => Promise<Caller | undefined>

export const createIdentify =
  (build: ContextBuilder, run: Runners): Identify =>
  async (request, response, route) =>
    run.authenticate === null
      ? undefined
      : ((await run.authenticate(build(request, response, '', route, {}))) ?? ANONYMOUS)

/** Who makes a request of a bare route: these pass no hook, and some of what they tell is not for everybody. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { ANONYMOUS, type Caller } from './context.ts'
import type { Runners } from './freeze.ts'
import type { ContextBuilder } from './request-context.ts'

/**
 * Asks `authenticate`, and throws what it throws. `route` is the path as it was declared. Undefined where no plugin tells
 * callers apart: then there is nobody to be asked for a token.
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

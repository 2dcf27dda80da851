/** Ends a request: with a code after the consent, or with an error. The row goes in the same transaction. */
import type { Clock, RequestContext, ServerError } from '../../../kernel/index.ts'
import type { Database } from '../../database/service.ts'
import { redirectWithCode, redirectWithError } from '../authorize/redirect-back.ts'
import { issueCode } from '../grants/issue-code.ts'
import { deleteRequest } from '../login-tables.ts'
import type { LoginSession } from '../sessions/sessions.ts'
import type { PageAnswer } from '../web/mount-pages.ts'
import { RequestGone } from '../web/page-errors.ts'
import { endedRequestCookie, type PendingRequest } from './pending-request.ts'

interface Parts {
  readonly database: Database
  readonly clock: Clock
}

/** Throws `RequestGone` when the request was ended meanwhile: a form that is sent twice gives one code. */
export const completeRequest = async (
  { database, clock }: Parts,
  ctx: RequestContext,
  pending: PendingRequest,
  session: LoginSession,
  scope: string,
): Promise<PageAnswer> => {
  const code = await database.transact(async (transaction) => {
    if ((await transaction.get(deleteRequest, [pending.idHash, 'consent'])) === undefined) throw RequestGone()
    return issueCode(transaction, { pending, session, scope, now: clock.now() })
  })
  return {
    redirect: redirectWithCode(ctx, pending.params, code),
    cookies: [endedRequestCookie(ctx, pending)],
  }
}

/** Throws `RequestGone` likewise. */
export const refuseRequest = async (
  { database }: Pick<Parts, 'database'>,
  ctx: RequestContext,
  pending: PendingRequest,
  error: ServerError,
): Promise<PageAnswer> => {
  await database.transact(async (transaction) => {
    if ((await transaction.get(deleteRequest, [pending.idHash, pending.step])) === undefined) throw RequestGone()
  })
  return {
    redirect: redirectWithError(ctx, pending.params, error),
    cookies: [endedRequestCookie(ctx, pending)],
  }
}

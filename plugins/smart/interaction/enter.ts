/** Goes on once the person of a request is known. */
import type { RequestContext } from '../../../kernel/index.ts'
import type { LaunchContext } from '../grants/launch-context.ts'
import { advanceRequest } from '../login-tables.ts'
import { AccessDenied } from '../oauth-errors.ts'
import type { LoginSession } from '../sessions/sessions.ts'
import type { PageAnswer } from '../web/mount-pages.ts'
import { RequestGone } from '../web/page-errors.ts'
import { refuseRequest } from './complete-request.ts'
import { nextStep } from './next-step.ts'
import type { PendingRequest } from './pending-request.ts'
import { type InteractionParts, stepUrl } from './step-page.ts'

/**
 * Stores what was chosen and the step after it, if the step of `pending` is still waited for; throws `RequestGone` when
 * it is not.
 */
export const enter = async (
  parts: InteractionParts,
  ctx: RequestContext,
  pending: PendingRequest,
  session: Pick<LoginSession, 'idHash' | 'person'>,
  chosen: LaunchContext,
): Promise<PageAnswer> => {
  const next = await nextStep(parts, ctx, pending, session.person, chosen)
  if (next === 'denied') return refuseRequest(parts, ctx, pending, AccessDenied())
  await parts.database.transact(async (transaction) => {
    const advanced = await transaction.get(advanceRequest, [
      ...[next.step, session.idHash, JSON.stringify(next.chosen), pending.idHash, pending.step],
    ])
    if (advanced === undefined) throw RequestGone()
  })
  return { redirect: stepUrl(ctx, pending, next.step) }
}

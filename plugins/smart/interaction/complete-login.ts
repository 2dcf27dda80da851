/** Opens the session of a person who has just logged in, and goes on with the request. */
import type { RequestContext } from '../../../kernel/index.ts'
import { advanceRequest } from '../login-tables.ts'
import { AccessDenied, LoginRequired } from '../oauth-errors.ts'
import { patientAccessOf } from '../people/patient-access.ts'
import type { Person } from '../people/person.ts'
import type { PageAnswer } from '../web/mount-pages.ts'
import { RequestGone } from '../web/page-errors.ts'
import { auditLogin } from './audit-login.ts'
import { refuseRequest } from './complete-request.ts'
import { nextStep } from './next-step.ts'
import type { PendingRequest } from './pending-request.ts'
import { type InteractionParts, stepUrl } from './step-page.ts'

const LEEWAY_SECONDS = 60 // for the way from the provider, and for its clock

/** The provider may answer with an older login than was asked for. OpenID Connect Core, section 3.1.2.1 */
const isTooOld = ({ params: { maxAge } }: PendingRequest, { authTime }: Person, now: number): boolean =>
  maxAge !== undefined && authTime + Math.max(maxAge, LEEWAY_SECONDS) < now / 1000

/** `name` is what pages call the person. */
export const completeLogin = async (
  parts: InteractionParts,
  ctx: RequestContext,
  pending: PendingRequest,
  person: Person,
  name: string,
): Promise<PageAnswer> => {
  const { database, clock, sessions } = parts
  const refuse = async (error: ReturnType<typeof AccessDenied>): Promise<PageAnswer> => {
    await auditLogin(parts, ctx, { operation: 'login', client: pending.client, person, status: error.status })
    return refuseRequest(parts, ctx, pending, error)
  }
  if ((await patientAccessOf(parts, ctx, person)) === undefined) return refuse(AccessDenied())
  if (isTooOld(pending, person, clock.now())) return refuse(LoginRequired())
  const next = await nextStep(parts, ctx, pending, person, {})
  if (next === 'denied') return refuse(AccessDenied())
  const cookie = await database.transact(async (transaction) => {
    const opened = await sessions.open(transaction, ctx, person, name)
    const advanced = await transaction.get(advanceRequest, [
      ...[next.step, opened.idHash, JSON.stringify(next.chosen), pending.idHash, pending.step],
    ])
    if (advanced === undefined) throw RequestGone()
    return opened.cookie
  })
  await auditLogin(parts, ctx, { operation: 'login', client: pending.client, person, status: 200 })
  return { redirect: stepUrl(ctx, pending, next.step), cookies: [cookie] }
}

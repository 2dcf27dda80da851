/** Ends the session of a person who may do nothing any more, before anything is shown by it. */
import type { Host, RequestContext } from '../../../kernel/index.ts'
import type { Database } from '../../database/service.ts'
import type { BearerCallers } from '../bearer/bearer-callers.ts'
import { auditLogin } from '../interaction/audit-login.ts'
import { AccessDenied } from '../oauth-errors.ts'
import { patientAccessOf } from '../people/patient-access.ts'
import type { RecordParts } from '../people/person-record.ts'
import type { LoginSession, Sessions } from './sessions.ts'

export interface EndIfOverParts extends RecordParts, Pick<Host, 'run'> {
  readonly database: Database
  readonly sessions: Sessions
  readonly bearer: Pick<BearerCallers, 'recheck'>
}

/**
 * True when the record of the person was removed, is inactive or outside its period: then the session has ended, with
 * its tokens. The caller answers access_denied, with `endedCookie`. `client` is whom the person was about to let in.
 */
export const endIfOver = async (
  parts: EndIfOverParts,
  ctx: RequestContext,
  { idHash, person }: Pick<LoginSession, 'idHash' | 'person'>,
  client: string,
): Promise<boolean> => {
  if ((await patientAccessOf(parts, ctx, person)) !== undefined) return false
  const { database, sessions, bearer } = parts
  await database.transact((transaction) => sessions.end(transaction, { idHash }))
  bearer.recheck()
  await auditLogin(parts, ctx, { operation: 'login', client, person, status: AccessDenied().status })
  return true
}

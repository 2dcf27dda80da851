/** Stores what a person has granted, and the code by which the client gets its tokens. RFC 6749, section 4.1.2 */
import { randomBytes } from 'node:crypto'
import type { Transaction } from '../../database/service.ts'
import type { PendingRequest } from '../interaction/pending-request.ts'
import { insertCode, insertGrant } from '../login-tables.ts'
import { hashOf, newSecret } from '../secret.ts'
import type { LoginSession } from '../sessions/sessions.ts'
import { ACCESS_SECONDS, CODE_SECONDS, OFFLINE_MS } from './lifetimes.ts'

const GRANT_BYTES = 16

/** The end of a grant, and the session it depends on. */
const boundsOf = (
  scopes: readonly string[],
  { idHash, expiresAt }: LoginSession,
  now: number,
): { readonly sessionHash: Buffer | null; readonly end: number } => {
  if (scopes.includes('offline_access')) return { sessionHash: null, end: now + OFFLINE_MS }
  if (scopes.includes('online_access')) return { sessionHash: idHash, end: expiresAt }
  return { sessionHash: null, end: now + (CODE_SECONDS + ACCESS_SECONDS) * 1000 }
}

export interface Consented {
  readonly pending: PendingRequest
  readonly session: LoginSession
  /** The scopes that the person has granted. */
  readonly scope: string
  readonly now: number
}

/** A new grant for each consent, so that none is used for another patient. Returns the code. */
export const issueCode = async (
  transaction: Transaction,
  { pending: { client, params, chosen }, session, scope, now }: Consented,
): Promise<string> => {
  const code = newSecret()
  const grantId = randomBytes(GRANT_BYTES)
  const { sessionHash, end } = boundsOf(scope.split(' '), session, now)
  await transaction.run(insertGrant, [
    ...[grantId, client, JSON.stringify(session.person), scope, JSON.stringify(chosen)],
    ...[params.nonce ?? null, params.maxAge === undefined ? 0 : 1, sessionHash, end],
  ])
  await transaction.run(insertCode, [
    ...[hashOf(code), grantId, client, params.redirectUri, params.challenge],
    now + CODE_SECONDS * 1000,
  ])
  return code
}

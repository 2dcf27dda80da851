/** Exchanges a code for tokens, once. RFC 6749, section 4.1.3; RFC 7636, section 4.6 */
import { hash } from 'node:crypto'
import type { Form } from '../endpoints/form.ts'
import { type CodeRow, consumeCode, findCode } from '../login-tables.ts'
import { InvalidGrant, InvalidRequest } from '../oauth-errors.ts'
import { mayKeep, patientAccessOf } from '../people/patient-access.ts'
import { personOf } from '../people/person.ts'
import { hashOf, isSameHash } from '../secret.ts'
import type { GrantHandler, GrantParts } from './grant-handler.ts'
import { isGrantAlive } from './is-grant-alive.ts'
import { issueTokens, tokenAnswer } from './issue-tokens.ts'
import { contextOf } from './launch-context.ts'
import { revokeReused } from './revoke-grant.ts'

const VERIFIER = /^[A-Za-z0-9._~-]{43,128}$/

const isVerifier = (verifier: string | undefined, challenge: string): boolean =>
  verifier !== undefined &&
  VERIFIER.test(verifier) &&
  isSameHash(hash('sha256', verifier, 'buffer'), Buffer.from(challenge, 'base64url'))

/** What the request must repeat of the authorization. A request that does not leaves the code as it is. */
const isOfRequest = (row: CodeRow, form: Form, now: number): boolean =>
  Number(row.expires_at) > now &&
  row.redirect_uri === form.get('redirect_uri') &&
  isVerifier(form.get('code_verifier'), row.challenge) &&
  isGrantAlive(row, now)

export const authorizationCode =
  (parts: GrantParts): GrantHandler =>
  async (ctx, authenticate, form) => {
    const client = await authenticate()
    const { database, clock } = parts
    const code = form.get('code')
    if (code === undefined) throw InvalidRequest('code is missing')
    if (!form.has('redirect_uri')) throw InvalidRequest('redirect_uri is missing')
    const idHash = hashOf(code)
    const row = await database.get<CodeRow>(findCode, [idHash])
    if (row === undefined || row.client_id !== client.id || row.person === null) throw InvalidGrant()
    const reused = async (): Promise<never> => {
      await revokeReused(parts, ctx, row, 'code-reuse')
      throw InvalidGrant()
    }
    if (row.consumed_at !== null) return reused()
    if (!isOfRequest(row, form, clock.now())) throw InvalidGrant()
    const access = await patientAccessOf(parts, ctx, personOf(row.person))
    if (!mayKeep(access, contextOf(row.context))) throw InvalidGrant()
    const issued = await database.transact(async (transaction) => {
      const now = clock.now()
      if ((await transaction.get(consumeCode, [now, idHash])) === undefined) return undefined
      return issueTokens(transaction, { grant: row, scope: row.scope, now })
    })
    if (issued === undefined) return reused()
    return tokenAnswer(parts, ctx, { grant: row, scope: row.scope, issued, operation: 'token' })
  }

/**
 * POST /oauth/revoke: revokes a token of the calling client, RFC 7009. With a refresh token its whole grant ends; an
 * access token ends alone.
 */
import type { Clock } from '../../../kernel/index.ts'
import type { Database } from '../../database/service.ts'
import type { BearerCallers } from '../bearer/bearer-callers.ts'
import type { AuthenticateClient } from '../client-auth/authenticate-client.ts'
import { endGrant } from '../grants/end-grant.ts'
import { PATHS, tokenUrlOf } from '../issuer.ts'
import { findRefresh, type RefreshRow } from '../login-tables.ts'
import { InvalidRequest } from '../oauth-errors.ts'
import { hashOf } from '../secret.ts'
import { readToken, revokeToken } from '../tokens/access-tokens.ts'
import type { FormEndpoint } from './mount-oauth.ts'

export interface RevocationParts {
  readonly database: Database
  readonly clock: Clock
  readonly bearer: Pick<BearerCallers, 'recheck'>
  readonly authenticateClient: AuthenticateClient
}

export const revocationEndpoint = ({ database, clock, bearer, authenticateClient }: RevocationParts): FormEndpoint => ({
  path: PATHS.revoke,
  operation: 'revoke',
  audited: true,
  async answer(ctx, form) {
    const client = await authenticateClient({ ctx, form, tokenUrl: tokenUrlOf(ctx) })
    const token = form.get('token')
    if (token === undefined) throw InvalidRequest('token is missing')
    const row = await readToken(database, token)
    const refresh = row === undefined ? await database.get<RefreshRow>(findRefresh, [hashOf(token)]) : undefined
    const owner = row?.client_id ?? refresh?.client_id
    // Section 2.2: the answer for an unknown token is that of a revoked one.
    if (owner === undefined) return { status: 200 }
    if (owner !== client.id) throw InvalidRequest('the token was issued to another client')
    if (refresh === undefined) {
      await revokeToken(database, token, client.id)
      bearer.recheck()
    } else {
      await endGrant(database, refresh.grant_id, clock.now())
      bearer.recheck()
    }
    return { status: 200 }
  },
})

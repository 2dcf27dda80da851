/** POST /oauth/revoke: revokes a token of the calling client. RFC 7009. */
import type { Database } from '../../database/service.ts'
import type { BearerCallers } from '../bearer/bearer-callers.ts'
import type { AuthenticateClient } from '../client-auth/authenticate-client.ts'
import { PATHS, tokenUrlOf } from '../issuer.ts'
import { InvalidRequest } from '../oauth-errors.ts'
import { readToken, revokeToken } from '../tokens/access-tokens.ts'
import type { FormEndpoint } from './mount-oauth.ts'

export interface RevocationParts {
  readonly database: Database
  readonly bearer: Pick<BearerCallers, 'forget'>
  readonly authenticateClient: AuthenticateClient
}

export const revocationEndpoint = ({ database, bearer, authenticateClient }: RevocationParts): FormEndpoint => ({
  path: PATHS.revoke,
  operation: 'revoke',
  audited: true,
  async answer(ctx, form) {
    const client = await authenticateClient({ ctx, form, tokenUrl: tokenUrlOf(ctx) })
    const token = form.get('token')
    if (token === undefined) throw InvalidRequest('token is missing')
    const row = await readToken(database, token)
    // Section 2.2: the answer for an unknown token is that of a revoked one.
    if (row === undefined) return { status: 200 }
    if (row.client_id !== client.id) throw InvalidRequest('the token was issued to another client')
    await revokeToken(database, token, client.id)
    bearer.forget(token)
    return { status: 200 }
  },
})

/** POST /oauth/token: issues access tokens. RFC 6749, section 4.4; SMART App Launch, "Backend services". */
import type { Clock, RequestContext } from '../../../kernel/index.ts'
import type { Database } from '../../database/service.ts'
import type { AuthenticateClient } from '../client-auth/authenticate-client.ts'
import type { Client } from '../clients/client.ts'
import { PATHS, tokenUrlOf } from '../issuer.ts'
import { InvalidRequest, InvalidScope, UnauthorizedClient, UnsupportedGrantType } from '../oauth-errors.ts'
import { grantScopes } from '../scopes/grant-scopes.ts'
import type { InstalledScopes } from '../scopes/installed-scopes.ts'
import { issueAccessToken } from '../tokens/access-tokens.ts'
import type { Form } from './form.ts'
import type { FormEndpoint, OAuthAnswer } from './mount-oauth.ts'

const BACKEND_SECONDS = 300 // SMART: a backend service's token lives no longer than five minutes

export interface TokenEndpointParts {
  readonly database: Database
  readonly clock: Clock
  readonly authenticateClient: AuthenticateClient
  /** Drops scopes whose type or search parameters are not installed. */
  readonly installedScopes: InstalledScopes
}

type Grant = (ctx: RequestContext, client: Client, form: Form) => Promise<OAuthAnswer>

export const tokenEndpoint = (parts: TokenEndpointParts): FormEndpoint => {
  const { database, clock, authenticateClient, installedScopes } = parts

  const clientCredentials: Grant = async (ctx, client, form) => {
    const asked = form.get('scope')
    if (asked === undefined) throw InvalidRequest('scope is missing')
    const scope = await installedScopes(grantScopes(asked, client.metadata.scope, 'system'))
    if (scope === '') throw InvalidScope()
    const issued = await database.transact((transaction) =>
      issueAccessToken(transaction, { client, scope, seconds: BACKEND_SECONDS, now: clock.now() }),
    )
    // With this id the audit trail names the token that was issued.
    ctx.caller = { ...ctx.caller, tokenId: issued.tokenId }
    return {
      status: 200,
      body: { access_token: issued.token, token_type: 'Bearer', expires_in: issued.seconds, scope: issued.scope },
    }
  }
  const grants: ReadonlyMap<string, Grant> = new Map([['client_credentials', clientCredentials]])

  return {
    path: PATHS.token,
    operation: 'token',
    audited: true,
    async answer(ctx, form) {
      const type = form.get('grant_type')
      if (type === undefined) throw InvalidRequest('grant_type is missing')
      const grant = grants.get(type)
      if (grant === undefined) throw UnsupportedGrantType()
      const client = await authenticateClient({ ctx, form, tokenUrl: tokenUrlOf(ctx) })
      if (!client.metadata.grant_types.includes(type)) throw UnauthorizedClient()
      return grant(ctx, client, form)
    },
  }
}

/** Tokens of clients that act for themselves. RFC 6749, section 4.4; SMART App Launch, "Backend services" */
import { InvalidRequest, InvalidScope } from '../oauth-errors.ts'
import { grantScopes } from '../scopes/grant-scopes.ts'
import { issueAccessToken } from '../tokens/access-tokens.ts'
import type { GrantHandler, GrantParts } from './grant-handler.ts'

const BACKEND_SECONDS = 300 // SMART: a backend service's token lives no longer than five minutes

export const clientCredentials =
  ({ database, clock, installedScopes }: GrantParts): GrantHandler =>
  async (ctx, authenticate, form) => {
    const client = await authenticate()
    const asked = form.get('scope')
    if (asked === undefined) throw InvalidRequest('scope is missing')
    const scope = await installedScopes(grantScopes(asked, client.metadata.scope, 'system'))
    if (scope === '') throw InvalidScope()
    const now = clock.now()
    const issued = await database.transact((transaction) =>
      issueAccessToken(transaction, {
        client: client.id,
        grantId: null,
        scope,
        expiresAt: now + BACKEND_SECONDS * 1000,
        now,
      }),
    )
    // With this id the audit trail names the token that was issued.
    ctx.caller = { ...ctx.caller, tokenId: issued.tokenId }
    return {
      status: 200,
      body: { access_token: issued.token, token_type: 'Bearer', expires_in: BACKEND_SECONDS, scope },
    }
  }

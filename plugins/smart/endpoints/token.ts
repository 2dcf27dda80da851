/** POST /oauth/token: issues tokens. RFC 6749, sections 4 to 6 */
import type { AuthenticateClient } from '../client-auth/authenticate-client.ts'
import type { Client } from '../clients/client.ts'
import { authorizationCode } from '../grants/authorization-code.ts'
import { clientCredentials } from '../grants/client-credentials.ts'
import type { GrantHandler, GrantParts } from '../grants/grant-handler.ts'
import { refreshToken } from '../grants/refresh-token.ts'
import { withOwner } from '../grants/with-owner.ts'
import { PATHS, tokenUrlOf } from '../issuer.ts'
import { InvalidRequest, UnauthorizedClient, UnsupportedGrantType } from '../oauth-errors.ts'
import type { FormEndpoint } from './mount-oauth.ts'

export interface TokenEndpointParts extends GrantParts {
  readonly authenticateClient: AuthenticateClient
  /** True where people can log in. */
  readonly hasLogin: boolean
}

export const tokenEndpoint = (parts: TokenEndpointParts): FormEndpoint => {
  const grants: ReadonlyMap<string, GrantHandler> = new Map([
    ['client_credentials', clientCredentials(parts)],
    ...(parts.hasLogin
      ? ([
          ['authorization_code', authorizationCode(parts)],
          ['refresh_token', refreshToken(parts)],
        ] as const)
      : []),
  ])

  return {
    path: PATHS.token,
    operation: 'token',
    audited: true,
    async answer(ctx, sent) {
      const type = sent.get('grant_type')
      if (type === undefined) throw InvalidRequest('grant_type is missing')
      const grant = grants.get(type)
      if (grant === undefined) throw UnsupportedGrantType()
      const authenticate = async (): Promise<Client> => {
        const form = type === 'refresh_token' ? await withOwner(parts.database, ctx, sent) : sent
        const client = await parts.authenticateClient({ ctx, form, tokenUrl: tokenUrlOf(ctx) })
        if (!client.metadata.grant_types.includes(type)) throw UnauthorizedClient()
        return client
      }
      return grant(ctx, authenticate, sent)
    },
  }
}

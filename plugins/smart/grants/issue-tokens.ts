/** The tokens that a person's grant gives, and the answer that carries them. SMART App Launch, "Token response" */
import type { RequestContext } from '../../../kernel/index.ts'
import type { Transaction } from '../../database/service.ts'
import type { OAuthAnswer } from '../endpoints/mount-oauth.ts'
import { issuerOf } from '../issuer.ts'
import { type GrantRow, type GrantState, insertRefresh } from '../login-tables.ts'
import { personOf } from '../people/person.ts'
import { hashOf, newSecret } from '../secret.ts'
import { issueAccessToken } from '../tokens/access-tokens.ts'
import type { GrantParts } from './grant-handler.ts'
import { grantedDetails } from './granted-details.ts'
import { makeIdToken } from './id-token.ts'
import { contextOf } from './launch-context.ts'
import { ACCESS_SECONDS, IDLE_MS } from './lifetimes.ts'

export type IssuingGrant = GrantRow & GrantState & { readonly grant_id: Uint8Array; readonly client_id: string }

export interface IssuedTokens {
  readonly access: string
  /** Id of the access token in the audit trail. */
  readonly tokenId: string
  readonly seconds: number
  readonly refresh: string | undefined
}

/** A grant without one of these ends with its access token. */
const canRefresh = (scope: string): boolean =>
  scope.split(' ').some((one) => one === 'offline_access' || one === 'online_access')

/** Stores an access token with `scope`, and a refresh token where the grant allows it. None outlives the grant. */
export const issueTokens = async (
  transaction: Transaction,
  { grant, scope, now }: { grant: IssuingGrant; scope: string; now: number },
): Promise<IssuedTokens> => {
  const end = Number(grant.grant_expires_at)
  const expiresAt = Math.min(end, now + ACCESS_SECONDS * 1000)
  const { client_id: client, grant_id: grantId } = grant
  const { token, tokenId } = await issueAccessToken(transaction, { client, grantId, scope, expiresAt, now })
  const refresh = canRefresh(grant.scope) ? newSecret() : undefined
  if (refresh !== undefined)
    await transaction.run(insertRefresh, [hashOf(refresh), grantId, client, now, Math.min(end, now + IDLE_MS)])
  return { access: token, tokenId, seconds: Math.floor((expiresAt - now) / 1000), refresh }
}

/** The context never comes from the request, and is repeated when a token is refreshed. */
export const tokenAnswer = async (
  { signer, clock }: Pick<GrantParts, 'signer' | 'clock'>,
  ctx: RequestContext,
  { grant, scope, issued, operation }: { grant: IssuingGrant; scope: string; issued: IssuedTokens; operation: string },
): Promise<OAuthAnswer> => {
  const person = personOf(grant.person)
  const { fhirUser } = person
  ctx.caller = {
    ...{ kind: 'user' as const, client: grant.client_id, tokenId: issued.tokenId },
    ...(fhirUser !== undefined && { user: fhirUser }),
  }
  const idToken = await makeIdToken(signer, {
    issuer: issuerOf(ctx),
    audience: grant.client_id,
    person,
    scopes: grant.scope.split(' '),
    nonce: grant.nonce ?? undefined,
    wantsAuthTime: Number(grant.wants_auth_time) === 1,
    now: clock.now(),
  })
  return {
    status: 200,
    operation,
    details: grantedDetails(contextOf(grant.context).patient, scope),
    body: {
      access_token: issued.access,
      token_type: 'Bearer',
      expires_in: issued.seconds,
      scope,
      ...(issued.refresh !== undefined && { refresh_token: issued.refresh }),
      ...(idToken !== undefined && { id_token: idToken }),
      ...contextOf(grant.context),
    },
  }
}

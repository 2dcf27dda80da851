/** Ends a grant: all its tokens are refused from then on. */
import type { RequestContext } from '../../../kernel/index.ts'
import { personOf } from '../people/person.ts'
import { endGrant } from './end-grant.ts'
import type { GrantParts } from './grant-handler.ts'
import type { IssuingGrant } from './issue-tokens.ts'

/**
 * A code or refresh token that is used a second time may be a stolen one, so that nobody keeps tokens of its grant. RFC
 * 6749, section 4.1.2; RFC 9700, section 4.14.2. `operation`: for the audit trail.
 */
export const revokeReused = async (
  { database, clock, bearer, run }: Pick<GrantParts, 'database' | 'clock' | 'bearer' | 'run'>,
  ctx: RequestContext,
  grant: Pick<IssuingGrant, 'grant_id' | 'client_id' | 'person'>,
  operation: 'code-reuse' | 'refresh-reuse',
): Promise<void> => {
  await endGrant(database, grant.grant_id, clock.now())
  bearer.recheck()
  const { fhirUser } = personOf(grant.person)
  ctx.caller = {
    ...{ kind: 'user' as const, client: grant.client_id },
    ...(fhirUser !== undefined && { user: fhirUser }),
  }
  await run.onAudit?.({ request: ctx, interaction: { kind: 'auth', operation }, status: 400 })
}

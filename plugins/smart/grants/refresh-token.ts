/** Exchanges a refresh token for a new one and a new access token. RFC 6749, section 6; RFC 9700, section 4.14.2 */
import { consumeRefresh, findRefresh, type RefreshRow } from '../login-tables.ts'
import { InvalidGrant, InvalidRequest, InvalidScope } from '../oauth-errors.ts'
import { isPresent, personOf } from '../people/person.ts'
import { grantScopes } from '../scopes/grant-scopes.ts'
import { hashOf } from '../secret.ts'
import type { GrantHandler, GrantParts } from './grant-handler.ts'
import { isGrantAlive } from './is-grant-alive.ts'
import { issueTokens, tokenAnswer } from './issue-tokens.ts'
import { revokeReused } from './revoke-grant.ts'

/** The scope of the new access token: what was granted, or a part of it. It does not change the grant. */
const narrowed = (asked: string | undefined, granted: string): string => {
  if (asked === undefined) return granted
  const wanted = [...new Set(asked.split(' '))].filter((one) => one !== '')
  const given = new Set(grantScopes(asked, granted, 'user').split(' '))
  if (wanted.length === 0 || wanted.some((one) => !given.has(one))) throw InvalidScope()
  return wanted.join(' ')
}

export const refreshToken =
  (parts: GrantParts): GrantHandler =>
  async (ctx, client, form) => {
    const { database, clock, resources } = parts
    const token = form.get('refresh_token')
    if (token === undefined) throw InvalidRequest('refresh_token is missing')
    const idHash = hashOf(token)
    const row = await database.get<RefreshRow>(findRefresh, [idHash])
    if (row === undefined || row.client_id !== client.id || row.person === null) throw InvalidGrant()
    if (row.consumed_at !== null) {
      // Two tabs of an app may refresh at once: the one that arrived before the other was done stole nothing.
      if (ctx.startedAt > Number(row.consumed_at)) await revokeReused(parts, ctx, row, 'refresh-reuse')
      throw InvalidGrant()
    }
    const now = clock.now()
    if (Number(row.expires_at) <= now || !isGrantAlive(row, now)) throw InvalidGrant()
    const scope = narrowed(form.get('scope'), row.scope)
    if (!(await isPresent(resources, personOf(row.person)))) throw InvalidGrant()
    const issued = await database.transact(async (transaction) => {
      const at = clock.now()
      if ((await transaction.get(consumeRefresh, [at, idHash])) === undefined) return undefined
      return issueTokens(transaction, { grant: row, scope, now: at })
    })
    // Another request took the token after this one had read it.
    if (issued === undefined) throw InvalidGrant()
    return tokenAnswer(parts, ctx, { grant: row, scope, issued, operation: 'refresh' })
  }

/** Exchanges a refresh token for a new one and a new access token. RFC 6749, section 6; RFC 9700, section 4.14.2 */
import type { RequestContext } from '../../../kernel/index.ts'
import type { OAuthAnswer } from '../endpoints/mount-oauth.ts'
import { consumeRefresh, findRefresh, type RefreshRow } from '../login-tables.ts'
import { InvalidGrant, InvalidRequest, InvalidScope } from '../oauth-errors.ts'
import { mayKeep, patientAccessOf } from '../people/patient-access.ts'
import { personOf } from '../people/person.ts'
import { grantScopes } from '../scopes/grant-scopes.ts'
import { hashOf } from '../secret.ts'
import type { GrantHandler, GrantParts } from './grant-handler.ts'
import { isGrantAlive } from './is-grant-alive.ts'
import { issueTokens, tokenAnswer } from './issue-tokens.ts'
import { contextOf } from './launch-context.ts'
import { createRefreshesInFlight, type RefreshInFlight } from './refreshes-in-flight.ts'
import { revokeReused } from './revoke-grant.ts'

/** The scope of the new access token: what was granted, or a part of it. It does not change the grant. */
const narrowed = (asked: string | undefined, granted: string): string => {
  if (asked === undefined) return granted
  const wanted = [...new Set(asked.split(' '))].filter((one) => one !== '')
  const given = new Set(grantScopes(asked, granted, 'user').split(' '))
  if (wanted.length === 0 || wanted.some((one) => !given.has(one))) throw InvalidScope()
  return wanted.join(' ')
}

/**
 * How long another server may take from the use of a token until its answer has arrived. Whoever sends the token
 * meanwhile cannot know that it was used.
 */
const ANSWER_MS = 1_000

/**
 * True if this request arrived less than ANSWER_MS after another request used the token, so that its sender cannot have known
 * that: it is a concurrent request and no replay. All times are those of the database, so the clocks of the servers need not
 * agree. `waited`: milliseconds from the arrival of this request at this server until the row was read.
 */
const cameInTime = ({ read_at, consumed_at }: RefreshRow, waited: number): boolean =>
  Number(read_at) - Math.max(waited, 0) < Number(consumed_at) + ANSWER_MS

export const refreshToken = (parts: GrantParts): GrantHandler => {
  const { database, clock } = parts
  const inFlight = createRefreshesInFlight()

  const use = async (
    ctx: RequestContext,
    row: RefreshRow,
    {
      idHash,
      asked,
      own,
    }: { readonly idHash: Buffer; readonly asked: string | undefined; readonly own: RefreshInFlight },
  ): Promise<OAuthAnswer | undefined> => {
    const now = clock.now()
    if (Number(row.expires_at) <= now || !isGrantAlive(row, now)) throw InvalidGrant()
    const scope = narrowed(asked, row.scope)
    const access = await patientAccessOf(parts, ctx, personOf(row.person))
    if (!mayKeep(access, contextOf(row.context))) throw InvalidGrant()
    const issued = await database.transact(async (transaction) => {
      const at = clock.now()
      if ((await transaction.get(consumeRefresh, [idHash])) === undefined) return undefined
      // Before COMMIT, because the others may see its effect before this request goes on.
      own.won()
      return issueTokens(transaction, { grant: row, scope, now: at })
    })
    return issued && tokenAnswer(parts, ctx, { grant: row, scope, issued, operation: 'refresh' })
  }

  return async (ctx, authenticate, form) => {
    const token = form.get('refresh_token') ?? ''
    const idHash = hashOf(token)
    const own = inFlight.enter(idHash.toString('latin1'))
    const isRelayed = ctx.relayed === 'received'
    try {
      const client = await authenticate()
      if (token === '') throw InvalidRequest('refresh_token is missing')
      const waited = clock.now() - ctx.startedAt
      const row = await database.get<RefreshRow>(findRefresh, [idHash])
      if (row === undefined || row.client_id !== client.id || row.person === null) throw InvalidGrant()
      if (row.consumed_at === null) {
        const answer = await use(ctx, row, { idHash, asked: form.get('scope'), own })
        // Undefined: another request used the token after this one had read it.
        if (answer === undefined) throw InvalidGrant()
        // Where another server relayed this request, its answer is still on the way to the client then.
        return { ...answer, afterwards: () => own.leave(!isRelayed) }
      }
      const winner = own.winner()
      // Of a use on another server, and of one before a request that came through another server, only the time says something.
      const isElsewhere = winner === 'elsewhere' || (winner === 'gone' && isRelayed)
      const isConcurrent = isElsewhere ? cameInTime(row, waited) : winner === 'present'
      if (!isConcurrent) await revokeReused(parts, ctx, row, 'refresh-reuse')
      throw InvalidGrant()
    } catch (error) {
      own.leave()
      throw error
    }
  }
}

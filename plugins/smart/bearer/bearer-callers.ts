/**
 * Finds the caller of an access token. RFC 6750. A cached token is read from the database again after a second, so that
 * each server notices a revocation.
 */
import { LRUCache } from 'lru-cache'
import type { Caller, Clock, RequestContext, ServerError } from '../../../kernel/index.ts'
import { chain, type Database, type MaybePromise } from '../../database/service.ts'
import type { AuthFailureLimit } from '../../limits/service.ts'
import { BUILT_IN } from '../clients/client.ts'
import { TokenExpired, TokenUnknown } from '../errors.ts'
import { hashOf, tokenIdOf } from '../secret.ts'
import { findToken, type TokenRow } from '../tables.ts'
import { isAlive } from '../tokens/access-tokens.ts'
import { isOpenRoute } from './require-token.ts'

const MAX_KNOWN = 20_000
const TRUSTED_MS = 1_000 // spec: a revocation is seen by every server within a second

const BEARER = /^Bearer +([A-Za-z0-9._~+/-]+=*)$/i
const CHALLENGE = { headers: { 'www-authenticate': 'Bearer error="invalid_token"' } }

interface Known {
  readonly caller: Caller
  readonly expiresAt: number
  /** Monotonic time of the last look-up in the database, in milliseconds. */
  askedAt: number
}

export interface BearerCallers {
  /**
   * For the hook `authenticate`. Undefined when the request has no access token. Throws 401 for an unknown or expired
   * token, and 429 after too many unknown tokens from one address.
   */
  identify(request: RequestContext): MaybePromise<Caller | undefined>
  /** Removes a token from the cache after this server has revoked it. */
  forget(token: string): void
}

export const createBearerCallers = (
  database: Database,
  clock: Clock,
  failures: AuthFailureLimit | undefined,
): BearerCallers => {
  const known = new LRUCache<string, Known>({ max: MAX_KNOWN })
  const unknown = (error: ServerError): never => {
    throw error.with(CHALLENGE)
  }
  const callerOf = (key: string, idHash: Buffer, row: TokenRow | undefined, before: Known | undefined): Caller => {
    if (row === undefined || !isAlive(row, clock, BUILT_IN)) {
      known.delete(key)
      const isExpired = row !== undefined && Number(row.expires_at) <= clock.now()
      return unknown(isExpired ? TokenExpired() : TokenUnknown())
    }
    const askedAt = clock.monotonic()
    if (before !== undefined) {
      before.askedAt = askedAt
      return before.caller
    }
    const scopes = Object.freeze(row.scope.split(' '))
    const caller: Caller = Object.freeze({
      kind: 'client',
      client: row.client_id,
      scopes,
      tokenId: tokenIdOf(idHash),
    })
    known.set(key, { caller, expiresAt: Number(row.expires_at), askedAt })
    return caller
  }
  return {
    identify(request) {
      const { authorization } = request.headers
      // On these routes the header authenticates the OAuth client, so it holds no access token.
      if (authorization === undefined || (isOpenRoute(request.route) && request.route !== '/metadata')) return undefined
      const token = BEARER.exec(authorization)?.[1]
      if (token === undefined) return /^Bearer\b/i.test(authorization) ? unknown(TokenUnknown()) : undefined
      const idHash = hashOf(token)
      const key = idHash.toString('latin1')
      const before = known.get(key)
      if (before !== undefined && clock.monotonic() - before.askedAt < TRUSTED_MS && clock.now() < before.expiresAt)
        return before.caller
      // A cached token skips the limit on failures, so that guesses from the same address do not lock out its holder.
      const tooMany = before === undefined ? failures?.begin(request) : undefined
      if (tooMany !== undefined) throw tooMany
      return chain(database.get<TokenRow>(findToken, [idHash]), (row) => {
        const caller = callerOf(key, idHash, row, before)
        if (before === undefined) failures?.succeeded(request)
        return caller
      })
    },
    forget: (token) => void known.delete(hashOf(token).toString('latin1')),
  }
}

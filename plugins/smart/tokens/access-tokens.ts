/** Access tokens: 256 random bits, of which the database stores the hash. */
import type { Clock } from '../../../kernel/index.ts'
import type { Database, Transaction } from '../../database/service.ts'
import { isGrantAlive } from '../grants/is-grant-alive.ts'
import { hashOf, newSecret, tokenIdOf } from '../secret.ts'
import { ACCESS, deleteToken, findToken, insertToken, type TokenRow } from '../tables.ts'
import { REVOKED } from './revoked.ts'

export interface IssuedToken {
  readonly token: string
  /** Id of the token in the audit trail. */
  readonly tokenId: string
}

export interface NewToken {
  readonly client: string
  /** Null for a client that acts for itself. */
  readonly grantId: Uint8Array | null
  readonly scope: string
  /** Milliseconds since the epoch, as `now`. */
  readonly expiresAt: number
  readonly now: number
}

/** Stores a token. It is valid once the transaction is committed. */
export const issueAccessToken = async (
  transaction: Transaction,
  { client, grantId, scope, expiresAt, now }: NewToken,
): Promise<IssuedToken> => {
  const token = newSecret()
  const idHash = hashOf(token)
  await transaction.run(insertToken, [idHash, ACCESS, grantId, client, scope, now, expiresAt])
  return { token, tokenId: tokenIdOf(idHash) }
}

/** The format of the tokens of this server. Other text is not looked up. */
const TOKEN = /^[A-Za-z0-9_-]{43}$/

/** The row of an access token, expired or not; undefined for an unknown token. */
export const readToken = async (database: Database, token: string): Promise<TokenRow | undefined> =>
  TOKEN.test(token) ? database.get<TokenRow>(findToken, [hashOf(token)]) : undefined

/** Deletes a token if it belongs to this client. */
export const revokeToken = async (database: Database, token: string, clientId: string): Promise<void> =>
  database.transact((transaction) => {
    transaction.publish(REVOKED)
    return transaction.run(deleteToken, [hashOf(token), clientId])
  })

/**
 * False when the token has expired, its client is disabled or unknown, or its grant or session has ended. `builtIn` is
 * the id of the client that has no row.
 */
export const isAlive = (row: TokenRow, clock: Clock, builtIn: string): boolean =>
  Number(row.expires_at) > clock.now() &&
  (row.disabled_at === null ? row.client_id === builtIn : Number(row.disabled_at) === 0) &&
  isGrantAlive(row, clock.now())

/** Sessions of people in browsers: a cookie with 256 random bits, and a row that ends at a fixed time. */
import type { Clock, RequestContext } from '../../../kernel/index.ts'
import type { Database, Transaction } from '../../database/service.ts'
import { deleteSession, findSession, insertSession, type SessionRow } from '../login-tables.ts'
import { type Person, personOf } from '../people/person.ts'
import { hashOf, newSecret } from '../secret.ts'
import { openText, sealText } from '../web/cookie-secret.ts'
import { cookieOf, noCookie, readCookie } from '../web/cookies.ts'

const SESSION_MS = 12 * 3_600_000 // a working day; then the person logs in again
const COOKIE = 'session'

export interface LoginSession {
  /** SHA-256 of the cookie's value. */
  readonly idHash: Buffer
  readonly person: Person
  /** What pages call the person. */
  readonly name: string
  readonly expiresAt: number
  readonly secret: string
}

export interface Sessions {
  /** The session of the browser; undefined when there is none, or when it has ended. */
  find(request: RequestContext): Promise<LoginSession | undefined>
  /**
   * Opens a session for a person who has just logged in, in the transaction of the login, and ends the browser's earlier
   * one: an id from before the login is never used after it.
   */
  open(transaction: Transaction, request: RequestContext, person: Person, name: string): Promise<OpenedSession>
  /** Ends the session; false when there was none. */
  end(transaction: Transaction, session: Pick<LoginSession, 'idHash'>): Promise<boolean>
}

export interface OpenedSession {
  readonly idHash: Buffer
  /** For Set-Cookie. */
  readonly cookie: string
}

export const endedCookie = (request: RequestContext): string => noCookie(request, COOKIE)

export const createSessions = (database: Database, clock: Clock): Sessions => ({
  async find(request) {
    const secret = readCookie(request, COOKIE)
    if (secret === undefined) return undefined
    const idHash = hashOf(secret)
    const row = await database.get<SessionRow>(findSession, [idHash])
    if (row === undefined || Number(row.expires_at) <= clock.now()) return undefined
    const name = row.sealed_name === null ? '' : openText(secret, row.sealed_name)
    return { idHash, person: personOf(row.person), name, expiresAt: Number(row.expires_at), secret }
  },
  async open(transaction, request, person, name) {
    const before = readCookie(request, COOKIE)
    if (before !== undefined) await transaction.get(deleteSession, [hashOf(before)])
    const secret = newSecret()
    const idHash = hashOf(secret)
    const expiresAt = clock.now() + SESSION_MS
    await transaction.run(insertSession, [idHash, JSON.stringify(person), sealText(secret, name), expiresAt])
    return { idHash, cookie: cookieOf(request, COOKIE, secret) }
  },
  end: async (transaction, { idHash }) => (await transaction.get(deleteSession, [idHash])) !== undefined,
})

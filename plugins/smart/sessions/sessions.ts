/** Sessions of people in browsers: a cookie with 256 random bits, and a row that ends at a fixed time. */
import type { Clock, RequestContext } from '../../../kernel/index.ts'
import type { Database, Transaction } from '../../database/service.ts'
import { deleteSession, findSession, insertSession, type SessionRow } from '../login-tables.ts'
import { type Person, personOf } from '../people/person.ts'
import { hashOf, newSecret } from '../secret.ts'
import { REVOKED } from '../tokens/revoked.ts'
import { openText, sealText } from '../web/cookie-secret.ts'
import { cookieOf, noCookie, readCookie, readCookies } from '../web/cookies.ts'
import { MalformedPageRequest } from '../web/page-errors.ts'

const SESSION_MS = 12 * 3_600_000 // a working day; then the person logs in again
const COOKIE = 'session'
const MAX_LOOKED_UP = 8 // cookies of one request
/** The format of the cookie's value. Other text is not looked up. */
const SECRET = /^[A-Za-z0-9_-]{43}$/

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
   * The sessions of all cookies of the request. It is more than one where another site or path has planted a cookie
   * beside the true one, which the server cannot distinguish. Throws `MalformedPageRequest` for more than eight cookies.
   */
  findAll(request: RequestContext): Promise<readonly LoginSession[]>
  /**
   * Opens a session for a person who has just logged in, in the transaction of the login, and ends the browser's earlier
   * ones: an id from before the login is never used after it.
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

const secretsOf = (request: RequestContext): readonly string[] => [
  ...new Set(readCookies(request, COOKIE).filter((one) => SECRET.test(one))),
]

const read = async (database: Database, clock: Clock, secret: string): Promise<LoginSession | undefined> => {
  const idHash = hashOf(secret)
  const row = await database.get<SessionRow>(findSession, [idHash])
  if (row === undefined || Number(row.expires_at) <= clock.now()) return undefined
  const name = row.sealed_name === null ? '' : openText(secret, row.sealed_name)
  return { idHash, person: personOf(row.person), name, expiresAt: Number(row.expires_at), secret }
}

const end = async (transaction: Transaction, idHash: Buffer): Promise<boolean> => {
  const isEnded = (await transaction.get(deleteSession, [idHash])) !== undefined
  if (isEnded) transaction.publish(REVOKED)
  return isEnded
}

export const createSessions = (database: Database, clock: Clock): Sessions => ({
  async find(request) {
    const secret = readCookie(request, COOKIE)
    return secret === undefined ? undefined : read(database, clock, secret)
  },
  async findAll(request) {
    const secrets = secretsOf(request)
    if (secrets.length > MAX_LOOKED_UP) throw MalformedPageRequest('it has more than eight cookies of a session')
    const found = await Promise.all(secrets.map((secret) => read(database, clock, secret)))
    return found.filter((one) => one !== undefined)
  },
  async open(transaction, request, person, name) {
    for (const before of secretsOf(request).slice(0, MAX_LOOKED_UP)) await end(transaction, hashOf(before))
    const secret = newSecret()
    const idHash = hashOf(secret)
    const expiresAt = clock.now() + SESSION_MS
    await transaction.run(insertSession, [idHash, JSON.stringify(person), sealText(secret, name), expiresAt])
    return { idHash, cookie: cookieOf(request, COOKIE, secret) }
  },
  end: (transaction, { idHash }) => end(transaction, idHash),
})

/**
 * One authorization request in progress: what the client asked for, which form is waited for, and what was chosen. The
 * browser has its id in the path and a cookie that proves it began the request; everything else comes from the row.
 */
import type { Clock, RequestContext } from '../../../kernel/index.ts'
import type { Database, Transaction } from '../../database/service.ts'
import { contextOf, type LaunchContext } from '../grants/launch-context.ts'
import { findRequest, findRequestByState, insertRequest, type RequestRow, type Step } from '../login-tables.ts'
import { hashOf, isSameHash, newSecret } from '../secret.ts'
import { cookieOf, namesOfCookies, noCookie, readCookie } from '../web/cookies.ts'
import { OtherBrowser, RequestGone } from '../web/page-errors.ts'

const COOKIE_SECONDS = 900 // for a person to log in and decide; `advanceRequest` gives the row as long
const LOGIN_SECONDS = 600 // to log in
/** Logins that a browser can have open: a cookie of each, of about 120 bytes, goes with every request. */
const MAX_COOKIES = 8

/** What the client asked for, after the checks. */
export interface RequestParams {
  readonly redirectUri: string
  readonly state: string
  readonly challenge: string
  /** The scopes that the client may have, separated by spaces. */
  readonly scope: string
  readonly nonce?: string
  /** Seconds. */
  readonly maxAge?: number
  /** True where a session does not do: the person has to enter credentials. */
  readonly mustLogIn: boolean
  /** From an EHR launch. */
  readonly launch?: LaunchContext
}

export interface PendingRequest {
  /** 43 characters, in the path of the pages. */
  readonly id: string
  readonly idHash: Buffer
  /** Of the cookie, for CSRF tokens and sealed texts. */
  readonly secret: string
  readonly client: string
  readonly params: RequestParams
  readonly step: Step
  /** SHA-256 of the session cookie of the person; undefined until the login. */
  readonly sessionHash: Buffer | undefined
  readonly chosen: LaunchContext
  readonly sealedMemory: Buffer | undefined
}

const COOKIE = 'login-'
const cookieName = (idHash: Buffer): string => `${COOKIE}${idHash.toString('hex', 0, 8)}`

/** Values for Set-Cookie that leave room for one more login. */
const withoutOldest = (request: RequestContext): readonly string[] => {
  const names = namesOfCookies(request, COOKIE)
  return names.slice(0, Math.max(0, names.length - MAX_COOKIES + 1)).map((name) => noCookie(request, name))
}

export interface NewRequest {
  readonly client: string
  readonly params: RequestParams
  readonly step: Step
  readonly sessionHash: Buffer | undefined
  readonly chosen: LaunchContext
}

/**
 * Stores a request. Returns its id and values for Set-Cookie: the cookie of the request, and what removes those of the
 * oldest logins.
 */
export const beginRequest = async (
  transaction: Transaction,
  request: RequestContext,
  { client, params, step, sessionHash, chosen }: NewRequest,
  now: number,
): Promise<{ readonly id: string; readonly cookies: readonly string[] }> => {
  const id = newSecret()
  const idHash = hashOf(id)
  const secret = newSecret()
  const expiresAt = now + LOGIN_SECONDS * 1000
  await transaction.run(insertRequest, [
    ...[idHash, hashOf(secret), client, JSON.stringify(params)],
    ...[step, sessionHash ?? null, JSON.stringify(chosen), expiresAt],
  ])
  const cookie = cookieOf(request, cookieName(idHash), `${id}.${secret}`, COOKIE_SECONDS)
  return { id, cookies: [...withoutOldest(request), cookie] }
}

/** A value for Set-Cookie, once the request has ended. */
export const endedRequestCookie = (request: RequestContext, { idHash }: PendingRequest): string =>
  noCookie(request, cookieName(idHash))

const pendingOf = (request: RequestContext, row: RequestRow | undefined, clock: Clock): PendingRequest => {
  if (row === undefined || Number(row.expires_at) <= clock.now()) throw RequestGone()
  const idHash = Buffer.from(row.id_hash)
  const [id = '', secret = ''] = (readCookie(request, cookieName(idHash)) ?? '').split('.')
  if (!isSameHash(hashOf(id), idHash) || !isSameHash(hashOf(secret), row.cookie_hash)) throw OtherBrowser()
  return {
    ...{ id, idHash, secret, client: row.client_id, step: row.step },
    params: JSON.parse(row.params) as RequestParams,
    sessionHash: row.session_hash === null ? undefined : Buffer.from(row.session_hash),
    chosen: contextOf(row.chosen),
    sealedMemory: row.sealed_memory === null ? undefined : Buffer.from(row.sealed_memory),
  }
}

/** The request of this id. Throws `RequestGone`, and `OtherBrowser` when the cookie is not the one of the request. */
export const readRequest = async (
  { database, clock }: { database: Database; clock: Clock },
  request: RequestContext,
  id: string,
): Promise<PendingRequest> => pendingOf(request, await database.get<RequestRow>(findRequest, [hashOf(id)]), clock)

/** The request whose login at the provider has this `state`. Throws as `readRequest` does. */
export const readRequestByState = async (
  { database, clock }: { database: Database; clock: Clock },
  request: RequestContext,
  state: string,
): Promise<PendingRequest> =>
  pendingOf(request, await database.get<RequestRow>(findRequestByState, [hashOf(state)]), clock)

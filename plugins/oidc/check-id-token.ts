/**
 * Checks what openid-client does not check of an ID token: the form of `sub`, that `iat` and `auth_time` are not in the future,
 * `azp` beside a single audience, and that credentials were entered again where that was asked for. openid-client checks the
 * signature, `iss`, `aud`, `exp`, `nbf`, `nonce`, that `iat` is there, and `azp` beside several audiences. OpenID Connect Core
 * 1.0, section 3.1.3.7.
 */
import type { IDToken } from 'openid-client'
import { LoginFailure } from './login-failure.ts'

/** Allowed difference between the clocks, in seconds. */
export const TOLERANCE_S = 15

/** Core 1.0, section 2: at most 255 ASCII characters. */
const SUBJECT = /^[\x20-\x7e]{1,255}$/

export interface ExpectedIdToken {
  readonly clientId: string
  /** Seconds since the epoch. */
  readonly now: number
  /** Set where new credentials were asked for: when, in seconds since the epoch. */
  readonly forcedAt: number | undefined
}

/** Throws a `LoginFailure`. Returns when the person entered credentials, in seconds since the epoch. */
export const checkIdToken = (claims: IDToken, { clientId, now, forcedAt }: ExpectedIdToken): number => {
  const refuse = (reason: string): never => {
    throw new LoginFailure('refused', `ID token: ${reason}`)
  }
  if (!SUBJECT.test(claims.sub)) refuse('sub is empty, too long or not ASCII')
  if (claims.iat > now + TOLERANCE_S) refuse('iat is in the future')
  if (claims.azp !== undefined && claims.azp !== clientId) refuse('azp is another client')
  const { auth_time: authTime } = claims
  if (authTime !== undefined && authTime > now + TOLERANCE_S) refuse('auth_time is in the future')
  if (forcedAt === undefined) return authTime ?? claims.iat
  if (authTime === undefined) return refuse('new credentials were asked for, and auth_time is missing')
  if (authTime < forcedAt - TOLERANCE_S) refuse('new credentials were asked for, and none were entered')
  return authTime
}

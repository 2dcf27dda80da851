/** ID tokens: who has logged in. OpenID Connect Core, section 2; SMART App Launch, "Scopes and launch context" */
import type { IdTokenSigner } from '../keys/published-keys.ts'
import type { Person } from '../people/person.ts'

const ID_TOKEN_SECONDS = 3_600

export interface IdTokenClaims {
  readonly issuer: string
  /** The client. */
  readonly audience: string
  readonly person: Person
  /** Granted scopes; without `openid` there is no ID token. */
  readonly scopes: readonly string[]
  readonly nonce: string | undefined
  readonly wantsAuthTime: boolean
  /** Milliseconds since the epoch. */
  readonly now: number
}

/** Undefined without the scope `openid`. */
export const makeIdToken = async (signer: IdTokenSigner, given: IdTokenClaims): Promise<string | undefined> => {
  const { issuer, audience, person, scopes, nonce, wantsAuthTime, now } = given
  if (!scopes.includes('openid')) return undefined
  const seconds = Math.floor(now / 1000)
  return signer.sign({
    iss: issuer,
    sub: person.subject,
    aud: audience,
    iat: seconds,
    exp: seconds + ID_TOKEN_SECONDS,
    ...(nonce !== undefined && { nonce }),
    ...(wantsAuthTime && { auth_time: person.authTime }),
    ...(scopes.includes('fhirUser') && person.fhirUser !== undefined && { fhirUser: `${issuer}/${person.fhirUser}` }),
  })
}

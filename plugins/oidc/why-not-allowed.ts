/** Whether the settings let a person log in: `allowed_claims` and `allowed_email_domains`. */
import type { CheckedSettings } from './checked-settings.ts'
import { type Claims, hasClaim, type PersonClaims } from './claims.ts'

/** One `@`, as quoted local parts with another one are not used for people; only ASCII, so that case is simple. */
const ADDRESS = /^[\x21-\x3f\x41-\x7e]+@([A-Za-z0-9.-]+)$/

const holdsOneOf = (value: unknown, allowed: ReadonlySet<string>): boolean =>
  (Array.isArray(value) ? value : [value]).some((one) => typeof one === 'string' && allowed.has(one))

const hasAllowedClaim = ({ sources }: PersonClaims, allowed: CheckedSettings['allowedClaims']): boolean =>
  sources.some((claims) =>
    [...allowed].some(([name, values]) => hasClaim(claims, name) && holdsOneOf(claims[name], values)),
  )

/** The address and its verification are of one source: two sources may speak of two addresses. */
const hasAllowedAddress = (claims: Claims, domains: ReadonlySet<string>): boolean => {
  const { email, email_verified: isVerified } = claims
  if (typeof email !== 'string' || isVerified !== true) return false
  const domain = ADDRESS.exec(email)?.[1]
  return domain !== undefined && domains.has(domain.toLowerCase())
}

/** The reason why this person may not log in; undefined when nothing speaks against it. */
export const whyNotAllowed = (person: PersonClaims, settings: CheckedSettings): string | undefined => {
  const { allowedClaims, allowedEmailDomains } = settings
  if (allowedClaims.size > 0 && !hasAllowedClaim(person, allowedClaims))
    return 'the person has no value that [smart.oidc] allowed_claims lists'
  if (allowedEmailDomains.size > 0 && !person.sources.some((one) => hasAllowedAddress(one, allowedEmailDomains)))
    return 'the person has no verified e-mail address of [smart.oidc] allowed_email_domains'
  return undefined
}

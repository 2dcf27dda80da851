/** Settings that a login needs, once they are known to fit together. */
import { ClientIdMissing, IssuerInsecure, LookupIncomplete, ScopeMissing } from './errors.ts'
import { isLoopbackHttp } from './is-loopback-http.ts'

export interface OidcSettings {
  readonly issuer?: string
  readonly client_id?: string
  readonly client_secret?: string
  readonly scopes: readonly string[]
  readonly fhir_user_claim: string
  readonly allowed_claims: Readonly<Record<string, readonly string[]>>
  readonly allowed_email_domains: readonly string[]
  readonly patient_from_fhir_user: boolean
}
export interface LookupSettings {
  readonly resource_type?: string
  readonly claim?: string
  readonly system?: string
}

/** How a person without the claim `fhirUserClaim` is found. */
export interface Lookup {
  readonly type: string
  readonly claim: string
  readonly system: string
}

export interface CheckedSettings {
  readonly issuer: string
  readonly clientId: string
  readonly clientSecret: string | undefined
  readonly scopes: readonly string[]
  readonly fhirUserClaim: string
  readonly allowedClaims: ReadonlyMap<string, ReadonlySet<string>>
  /** In lower case. */
  readonly allowedEmailDomains: ReadonlySet<string>
  readonly patientFromFhirUser: boolean
  readonly lookup: Lookup | undefined
}

const lookupOf = ({ resource_type: type, claim, system }: LookupSettings): Lookup | undefined => {
  if (type === undefined && claim === undefined && system === undefined) return undefined
  if (type === undefined) throw LookupIncomplete('resource_type')
  if (claim === undefined) throw LookupIncomplete('claim')
  if (system === undefined) throw LookupIncomplete('system')
  return { type, claim, system }
}

/** Throws an error for the operator when a setting is missing, or would make logins insecure. */
export const checkedSettings = (oidc: OidcSettings, lookup: LookupSettings): CheckedSettings => {
  const { issuer = '', client_id: clientId } = oidc
  const url = URL.parse(issuer)
  if (url === null || (url.protocol !== 'https:' && !isLoopbackHttp(url))) throw IssuerInsecure(issuer)
  if (clientId === undefined) throw ClientIdMissing()
  if (!oidc.scopes.includes('openid')) throw ScopeMissing()
  return {
    issuer,
    clientId,
    clientSecret: oidc.client_secret,
    scopes: oidc.scopes,
    fhirUserClaim: oidc.fhir_user_claim,
    allowedClaims: new Map(Object.entries(oidc.allowed_claims).map(([name, values]) => [name, new Set(values)])),
    allowedEmailDomains: new Set(oidc.allowed_email_domains.map((domain) => domain.toLowerCase())),
    patientFromFhirUser: oidc.patient_from_fhir_user,
    lookup: lookupOf(lookup),
  }
}

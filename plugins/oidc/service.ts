/** The service through which the authorization server lets people log in at an OpenID provider. */
import { defineService } from '../../kernel/index.ts'

export { LoginRefused, ProviderUnavailable } from './errors.ts'

/** A person whom the provider has authenticated, and whom the settings allow to log in. */
export interface Person {
  /** Identifier of the provider, and the person's identifier there (claims `iss` and `sub`). */
  readonly issuer: string
  readonly subject: string
  /** For pages that greet the person. */
  readonly name?: string
  /** Relative FHIR reference of a resource that exists on this server, e.g. `Practitioner/p1`. */
  readonly fhirUser?: string
  /**
   * When the person last entered credentials, in seconds since the epoch. Where the provider does not say, the time of
   * this login; after `forceLogin` it always says so, or the login is refused.
   */
  readonly authTime: number
}

export interface LoginStart {
  /** URL of the provider to redirect the browser to. */
  readonly redirect: string
  /**
   * What `finish` needs again: nonce, PKCE verifier and a hash of the state. Stored with the pending request, never in
   * the browser, and given to `finish` once.
   */
  readonly memory: string
}

export interface ProviderLogin {
  /** Shown on the login page, e.g. the host of the provider. */
  readonly label: string
  /** URL of the provider. The Content-Security-Policy of the login page names it. */
  readonly issuer: string
  /** [smart.oidc] patient_from_fhir_user: a person who is a Patient is not asked to choose a patient. */
  readonly patientFromFhirUser: boolean
  /**
   * `callback` is the URL of this server to which the provider sends the browser back. `forceLogin` asks the provider
   * for new credentials. `request` identifies the pending request, in base64url: the parameter `state` of the callback
   * is `request`, a dot and random characters. Throws `ProviderUnavailable` within 5 s when the provider does not answer.
   */
  start(options: { callback: string; forceLogin: boolean; request: string }): Promise<LoginStart>
  /**
   * `url` is the callback as the browser called it, with its query; a path is enough. Throws `LoginRefused` when the
   * answer or its ID token is not valid or the settings refuse this person, and `ProviderUnavailable` when the provider
   * does not answer within 5 s in all. The reason is logged here, and is not part of the error. Compare `error.key`
   * with that of the table.
   */
  finish(options: { url: string; callback: string; memory: string }): Promise<Person>
}

/** Provided while [smart.oidc] names an issuer. */
export const ProviderLogin = defineService<ProviderLogin>('oidc.login')

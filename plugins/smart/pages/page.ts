/** What the pages of the login show. Each type is the input of one function that returns HTML. */

interface Form {
  /** Path that the form is posted to, e.g. `/oauth/interaction/ID/login`. */
  readonly action: string
  /** Hidden field `csrf`. */
  readonly csrf: string
}

/** Choice of the way to log in. Posts `provider=1`, or `username=…` for the demo login. */
export interface LoginPage extends Form {
  readonly clientName: string
  /** Label of the OpenID provider; undefined when none is configured. */
  readonly provider: string | undefined
  readonly demo: boolean
  /** True after a demo login without a user name. */
  readonly isNameMissing: boolean
}

export interface PatientRow {
  readonly id: string
  readonly name: string
  readonly birthDate: string | undefined
  readonly gender: string | undefined
  /** First identifier, such as a record number. */
  readonly identifier: string | undefined
}

/** Posts `patient=ID` to choose; the search and the pages are GETs of `action` with `q` and `page`. */
export interface PatientPage extends Form {
  readonly clientName: string
  readonly query: string
  readonly rows: readonly PatientRow[]
  /** Page tokens for the parameter `page`. */
  readonly next: string | undefined
  readonly previous: string | undefined
}

export interface EncounterRow {
  readonly id: string
  readonly title: string
  readonly start: string | undefined
  readonly end: string | undefined
  readonly status: string
}

/** Posts `encounter=ID`. */
export interface EncounterPage extends Form {
  readonly clientName: string
  readonly patientName: string
  readonly rows: readonly EncounterRow[]
  readonly next: string | undefined
  readonly previous: string | undefined
}

/** Posts `decision=allow` with `scope=…` once for each scope that stays checked, or `decision=deny`. */
export interface ConsentPage extends Form {
  readonly clientId: string
  readonly clientName: string
  readonly clientUri: string | undefined
  /** Host of the redirect URI, or its scheme for a native app. */
  readonly returnsTo: string
  readonly userName: string
  readonly patientName: string | undefined
  readonly encounterTitle: string | undefined
  /** The scopes to decide on, in the order in which they were requested. */
  readonly scopes: readonly string[]
}

/** Why a request cannot go on. Each has a title and a sentence in the texts, which say what the person can do. */
export type ErrorReason =
  /** The client_id is missing, unknown or disabled. */
  | 'unknown-app'
  /** The redirect URI is missing or not registered for the client. */
  | 'wrong-return-address'
  /** A parameter is missing, malformed or repeated, where no redirect is safe. */
  | 'malformed'
  /** The login took too long, or is finished already: the stored request is gone. */
  | 'expired'
  /** The cookie of the pending login is missing or belongs to another one. */
  | 'other-browser'
  /** The form is not the one of the pending step, or its CSRF token is wrong. */
  | 'stale-form'
  /** The provider's answer was not valid, or the settings refuse this person. */
  | 'login-refused'
  /** The provider does not answer. */
  | 'provider-unavailable'
  /** The person may not open the patient or encounter. */
  | 'not-yours'
  /** Too many secrets or tokens from the address were wrong. */
  | 'too-many-attempts'
  /** The address is over the rate limit or its quota. */
  | 'too-many-requests'
  | 'internal'

/** A request that cannot go on and must not redirect. */
export interface ErrorPage {
  readonly status: number
  readonly reason: ErrorReason
  readonly requestId: string
  /** Seconds until it makes sense to try again, where that is known. */
  readonly waitSeconds?: number | undefined
}

/** Asks whether to log out. Posts nothing but `csrf`. */
export interface LogoutPage extends Form {
  readonly userName: string
}

/** After a logout. */
export interface LoggedOutPage {
  readonly wasLoggedIn: boolean
}

export interface Pages {
  login(page: LoginPage): string
  patient(page: PatientPage): string
  encounter(page: EncounterPage): string
  consent(page: ConsentPage): string
  error(page: ErrorPage): string
  logout(page: LogoutPage): string
  loggedOut(page: LoggedOutPage): string
  /**
   * Value of the header Content-Security-Policy. `targets` are the URLs that the answer to a form of this page may
   * redirect to: the redirect URI of the app on every page of a login, also the `issuer` of the provider where the page
   * offers it. Chromium applies `form-action` to each redirect behind a form, so a missing one blocks the login.
   */
  csp(...targets: readonly (string | undefined)[]): string
}

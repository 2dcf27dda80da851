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

/** A request that cannot go on and must not redirect. `title` and `detail` are keys of the texts. */
export interface ErrorPage {
  readonly status: number
  readonly reason: string
  readonly requestId: string
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
  loggedOut(page: LoggedOutPage): string
  /** Value of the header Content-Security-Policy of all pages; `redirectOrigin` is allowed as the target of a form. */
  csp(redirectOrigin: string | undefined): string
}

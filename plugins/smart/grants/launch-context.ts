/** The launch context of a grant. SMART App Launch, "Scopes and launch context" */

/** A member of `fhirContext`. */
export type FhirContextItem = Readonly<Record<string, unknown>>

export interface LaunchContext {
  /** Id of a Patient. */
  readonly patient?: string
  /** Id of an Encounter. */
  readonly encounter?: string
  readonly fhirContext?: readonly FhirContextItem[]
}

export const contextOf = (json: string): LaunchContext => JSON.parse(json) as LaunchContext

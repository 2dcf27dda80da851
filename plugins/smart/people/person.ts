/** A person who has logged in, as the session and the grants store it. */
import { hash } from 'node:crypto'

export interface Person {
  /** The claim `sub` of this server: 43 characters of base64url. */
  readonly subject: string
  /** Relative FHIR reference, such as `Practitioner/p1`. */
  readonly fhirUser?: string
  /** True for a demo login, which checks nothing. */
  readonly isDemo: boolean
  /** When the person entered credentials, in seconds since the epoch. */
  readonly authTime: number
}

export const personOf = (json: string): Person => JSON.parse(json) as Person

/**
 * The `sub` for a person of an issuer. It is derived, so that the tables do not hold what the provider calls the person,
 * and so that persons of two providers are never the same.
 */
export const subjectOf = (issuer: string, subject: string): string =>
  hash('sha256', JSON.stringify([issuer, subject]), 'base64url')

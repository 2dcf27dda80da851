/** Which resource of this server a person is: by a claim, or by an identifier. */
import { isServerError } from '../../kernel/index.ts'
import type { Resources, Session } from '../fhir/service.ts'
import type { CheckedSettings, Lookup } from './checked-settings.ts'
import { claimOf, type PersonClaims } from './claims.ts'
import { PERSON_TYPES } from './config.ts'
import { LoginFailure } from './login-failure.ts'

const REFERENCE = new RegExp(`^(${PERSON_TYPES.join('|')})/([A-Za-z0-9.-]{1,64})$`)
const MAX_MATCHES = 10

const refused = (reason: string): LoginFailure => new LoginFailure('refused', reason)

/** Errors of the caller's making become `undefined`; that the server cannot read stays an error. */
const orUndefined = async <T>(work: Promise<T>): Promise<T | undefined> => {
  try {
    return await work
  } catch (error) {
    if (isServerError(error) && error.status < 500) return undefined
    throw error
  }
}

/** `value` is a relative reference, or an absolute one below `ownUrl`. */
const byClaim = async (session: Session, value: unknown, ownUrl: string | undefined): Promise<string> => {
  if (typeof value !== 'string') throw refused('the claim for the FHIR user is not a string')
  const isOwn = ownUrl !== undefined && value.startsWith(`${ownUrl}/`)
  const relative = isOwn ? value.slice(ownUrl.length + 1) : value
  const [, type, id] = REFERENCE.exec(relative) ?? []
  if (type === undefined || id === undefined)
    throw refused('the claim for the FHIR user is no reference to a person on this server')
  if ((await orUndefined(session.read(type, id))) === undefined)
    throw refused('the FHIR user of the claim does not exist on this server')
  return relative
}

/** A value of a token parameter that is taken as it is written. https://hl7.org/fhir/R4/search.html#escaping */
const literal = (text: string): string => text.replaceAll(/[\\|,$]/g, '\\$&')

interface Identified {
  readonly identifier?: readonly { readonly system?: unknown; readonly value?: unknown }[]
}

const byIdentifier = async (session: Session, value: unknown, { type, system }: Lookup): Promise<string> => {
  const text = typeof value === 'number' && Number.isSafeInteger(value) ? String(value) : value
  if (typeof text !== 'string' || text.trim() === '') throw refused('the claim of fhir_user_lookup is not a string')
  const query = `identifier=${encodeURIComponent(`${literal(system)}|${literal(text)}`)}&_count=${MAX_MATCHES}`
  const page = await orUndefined(session.search(type, query))
  if (page === undefined) throw refused('fhir_user_lookup cannot search for the claim')
  // A parameter that the installed definitions do not have is ignored with an issue.
  if (page.issues.length > 0) throw refused(`${type} cannot be searched by identifier`)
  // The search may be more lenient than a person's identity allows, for example about case.
  const found = page.matches.filter((match) =>
    (match.parse() as Identified).identifier?.some((one) => one.system === system && one.value === text),
  )
  const [first] = found
  if (first === undefined) throw refused('fhir_user_lookup finds nobody')
  if (found.length > 1 || page.next !== undefined) throw refused('fhir_user_lookup finds several resources')
  return `${type}/${first.id}`
}

export interface FhirUserParts {
  readonly resources: Resources
  /** URL under which absolute references are this server's own. */
  readonly ownUrl: () => string | undefined
}

/**
 * `Practitioner/p1`, or undefined for a person who is no resource here. Throws a `LoginFailure` when the claim or the
 * search does not lead to exactly one resource.
 */
export const fhirUserOf = async (
  { resources, ownUrl }: FhirUserParts,
  { fhirUserClaim, lookup }: CheckedSettings,
  person: PersonClaims,
): Promise<string | undefined> => {
  const session = resources.as({ kind: 'internal', purpose: 'login' })
  const claim = claimOf(person, fhirUserClaim)
  if (claim !== undefined) return byClaim(session, claim, ownUrl())
  return lookup === undefined ? undefined : byIdentifier(session, claimOf(person, lookup.claim), lookup)
}

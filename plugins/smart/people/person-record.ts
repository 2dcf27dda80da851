/** The records that stand for people: Patient, RelatedPerson, Practitioner, PractitionerRole and others. */
import { type Clock, isServerError, type RequestContext } from '../../../kernel/index.ts'
import type { Resources } from '../../fhir/service.ts'
import { isOwnBase, readDateBounds, readLiteral } from '../../model/service.ts'

type Json = Readonly<Record<string, unknown>>

export interface RecordParts {
  readonly resources: Resources
  readonly clock: Clock
}

/** The types whose `period` says when the relation or the role applies. */
const BY_PERIOD: ReadonlySet<string> = new Set(['RelatedPerson', 'PractitionerRole'])

/**
 * True from the begin of `start` to the end of `end`, each as long as what it names: `2026` ends with that year. A date
 * that cannot be read is never reached.
 */
const isWithin = ({ start, end }: Json, now: number): boolean => {
  const bounds = { lo: 0, hi: 0 }
  const read = (date: unknown): boolean => typeof date === 'string' && readDateBounds(date, bounds)
  if (start !== undefined && !(read(start) && bounds.lo <= now)) return false
  return end === undefined || (read(end) && now < bounds.hi)
}

const isObject = (value: unknown): value is Json => typeof value === 'object' && value !== null

/**
 * The record, parsed, if it counts now; undefined when it does not exist, is inactive, or is outside its period. Throws
 * when it cannot be read.
 */
export const readPersonRecord = async (
  { resources, clock }: RecordParts,
  type: string,
  id: string,
): Promise<Json | undefined> => {
  try {
    const record = (await resources.as({ kind: 'internal', purpose: 'login' }).read(type, id)).parse() as Json
    const { active, period } = record
    if (active === false) return undefined
    return BY_PERIOD.has(type) && isObject(period) && !isWithin(period, clock.now()) ? undefined : record
  } catch (error) {
    if (isServerError(error) && error.status < 500) return undefined
    throw error
  }
}

/** The id of the resource of this type on this server that a Reference names; undefined when it names another one, or none. */
export const localId = (
  reference: unknown,
  type: string,
  { ownUrl }: Pick<RequestContext, 'ownUrl'>,
): string | undefined => {
  const text = isObject(reference) ? reference.reference : undefined
  const literal = typeof text === 'string' ? readLiteral(text) : undefined
  return literal?.type === type && isOwnBase(literal.base, ownUrl) ? literal.id : undefined
}

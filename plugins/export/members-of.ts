/** Lists the patients of a Group at a time: active members within their period. https://hl7.org/fhir/R4/group.html */
import { readDateRange } from '../model/service.ts'

const PATIENT = /^Patient\/([A-Za-z0-9\-.]{1,64})(\/_history\/.*)?$/

interface Member {
  readonly entity?: { readonly reference?: unknown }
  readonly inactive?: unknown
  readonly period?: { readonly start?: unknown; readonly end?: unknown }
}

/**
 * An end such as 2024-05 belongs to the period, and a missing bound is open. A bound that is no date, which can be stored
 * while validation is disabled, excludes the member.
 */
const isWithin = ({ start, end }: NonNullable<Member['period']>, at: number): boolean =>
  (start === undefined || (readDateRange(String(start))?.from ?? Number.POSITIVE_INFINITY) <= at) &&
  (end === undefined || at < (readDateRange(String(end))?.to ?? Number.NEGATIVE_INFINITY))

/** Their ids. `at`: microseconds since the epoch. */
export const membersOf = ({ member }: Readonly<Record<string, unknown>>, at: number): ReadonlySet<string> =>
  new Set(
    (Array.isArray(member) ? (member as readonly Member[]) : []).flatMap(({ entity, inactive, period }) => {
      const id =
        inactive === true || !isWithin(period ?? {}, at) ? undefined : PATIENT.exec(String(entity?.reference))?.[1]
      return id === undefined ? [] : [id]
    }),
  )

/** Judges a change by the version before and by the one after, and delivers it to the queries that it concerns. */
import type { MatchSubject, SessionReads } from '../fhir/service.ts'
import type { FiledMatchers } from '../search/service.ts'
import type { Versions } from './change-source.ts'
import { type PatientsOf, type ResourceDelta, toResourceDelta } from './judged-change.ts'
import type { Place } from './place.ts'
import type { SharedQuery } from './shared-query.ts'

export const createDeliverChange = (
  filed: Pick<FiledMatchers<SharedQuery>, 'find'>,
  subject: SessionReads['subject'],
  patientsOf: PatientsOf,
): ((versions: Versions, at: Place) => void) => {
  const subjectOf = (
    version: Versions['next'] | undefined,
    resource?: Versions['resource'],
  ): MatchSubject | undefined =>
    version?.json === undefined ? undefined : subject(version, resource ?? JSON.parse(version.json))

  return (versions, at) => {
    const { previous, next, resource } = versions
    const before = subjectOf(previous)
    const after = subjectOf(next, resource)
    let delta: ResourceDelta | undefined
    for (const query of filed.find(next.type, before?.keys, after?.keys)) {
      const { matcher } = query
      if (!matcher.meaning.isCurrent) {
        for (const one of query.receivers) one.reset('meaning')
        continue
      }
      const wasIn = before !== undefined && matcher.test(before)
      const isIn = after !== undefined && matcher.test(after)
      if (!wasIn && !isIn) continue
      delta ??= toResourceDelta(
        next,
        () => next.json,
        () => patientsOf(versions),
      )
      for (const one of query.receivers) one.deliver(delta, at, wasIn, isIn)
    }
  }
}

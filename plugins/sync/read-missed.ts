/** What has become of resources while a client was away: their versions then and now, each tested against its query. */
import { isServerError } from '../../kernel/index.ts'
import type { CurrentResource, Matcher, SessionReads } from '../fhir/service.ts'
import { type PatientsOf, type Told, tell } from './judged-change.ts'
import type { RecentChange } from './recent-changes.ts'

const MAX_MISSED = 2_000 // resources; more are read faster as pages

export interface ReadMissedParts {
  readonly type: string
  readonly matcher: Matcher
  readonly internal: Pick<SessionReads, 'read' | 'subject'>
  readonly patientsOf: PatientsOf
}

export interface Missed {
  readonly told: Told
  readonly wasIn: boolean
  readonly isIn: boolean
}

/** Undefined where there are too many. */
export const readMissed = async (
  { type, matcher, internal, patientsOf }: ReadMissedParts,
  changes: readonly RecentChange[],
): Promise<readonly Missed[] | undefined> => {
  if (changes.length > MAX_MISSED) return undefined
  const read = async (id: string, version?: number): Promise<CurrentResource | undefined> => {
    try {
      return await internal.read(type, id, version)
    } catch (error) {
      if (isServerError(error) && error.status < 500) return undefined
      throw error
    }
  }
  const isMatch = (one: CurrentResource | undefined): boolean =>
    one !== undefined && matcher.test(internal.subject(one, one.parse()))
  const found: Missed[] = []
  for (const { id, before, after } of changes) {
    const then = before === undefined ? undefined : await read(id, before)
    const now = await read(id)
    const wasIn = isMatch(then)
    const isIn = isMatch(now)
    const version = now?.version ?? after
    const fact = (one: CurrentResource | undefined) => one && { ...pick(one), json: one.json }
    found.push({
      told: tell(
        { type, id, version },
        () => now?.json,
        () =>
          patientsOf({
            previous: fact(then),
            next: fact(now) ?? pick({ type, id, version, lastUpdated: 0 }),
            resource: undefined,
          }),
      ),
      wasIn,
      isIn,
    })
  }
  return found
}

const pick = ({
  type,
  id,
  version,
  lastUpdated,
}: Pick<CurrentResource, 'type' | 'id' | 'version' | 'lastUpdated'>) => ({
  ...{ type, id, version, lastUpdated },
})

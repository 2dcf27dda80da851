/** Compares resources before and after the absence of a client: both versions are tested against its query. */
import { isServerError } from '../../kernel/index.ts'
import type { CurrentResource, Matcher, SessionReads } from '../fhir/service.ts'
import { type PatientsOf, type ResourceDelta, toResourceDelta } from './judged-change.ts'
import type { RecentChange } from './recent-changes.ts'

const MAX_MISSED = 2_000 // versions to read; of more, pages are faster

export interface ReadMissedParts {
  readonly internal: Pick<SessionReads, 'read' | 'subject'>
  readonly patientsOf: PatientsOf
}

export interface Missed {
  readonly delta: ResourceDelta
  readonly wasIn: boolean
  readonly isIn: boolean
}

/**
 * Undefined where there are too many. `isLoose`: the client may have some of the changes behind its position, so a resource
 * that was in the set at any time since has to leave it.
 */
export const readMissed = async (
  { internal, patientsOf }: ReadMissedParts,
  matcher: Matcher,
  changes: readonly RecentChange[],
  isLoose: boolean,
): Promise<readonly Missed[] | undefined> => {
  const versions = changes.reduce((sum, { first, last }) => sum + (isLoose ? last - first + 1 : 1), 0)
  if (versions > MAX_MISSED) return undefined
  const { type } = matcher
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
  /** Whether any version from the first change to the one before the last was in the set. */
  const wasShown = async ({ id, first, last }: RecentChange): Promise<boolean> => {
    for (let version = first; version < last; version += 1) if (isMatch(await read(id, version))) return true
    return false
  }
  for (const change of changes) {
    const { id, first, last } = change
    const then = first === 1 ? undefined : await read(id, first - 1)
    const now = await read(id)
    const isIn = isMatch(now)
    const wasIn = isMatch(then) || (isLoose && !isIn && (await wasShown(change)))
    const version = now?.version ?? last
    const fact = (one: CurrentResource | undefined) => one && { ...pick(one), json: one.json }
    found.push({
      delta: toResourceDelta(
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

/** Which live queries were limited to something else than their caller would be now. */
import { isServerError, type Restriction } from '../../kernel/index.ts'
import type { SessionReads } from '../fhir/service.ts'
import type { LiveQuery } from './live-query.ts'

const textOf = (restrictions: readonly Restriction[]): string => JSON.stringify(restrictions)

/** Undefined where the caller may not search the type any more. */
const askRuling = async (session: SessionReads, type: string): Promise<string | undefined> => {
  try {
    return textOf(await session.ruling(type))
  } catch (error) {
    if (isServerError(error) && error.status < 500) return undefined
    throw error
  }
}

/** `session`: of the caller as it is now. Throws where it cannot be found out. */
export const findChangedRulings = async (
  session: () => SessionReads,
  queries: readonly LiveQuery[],
): Promise<readonly LiveQuery[]> => {
  const now = new Map<string, string | undefined>()
  for (const { type } of queries) if (!now.has(type)) now.set(type, await askRuling(session(), type))
  return queries.filter(({ type, restrictions }) => now.get(type) !== textOf(restrictions))
}

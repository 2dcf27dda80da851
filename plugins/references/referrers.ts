/** Deletions that would leave references to nothing. */
import type { RequestContext } from '../../kernel/index.ts'
import type { Transaction } from '../database/service.ts'
import type { MadeChange, References, Referrer, RefusedChange } from '../fhir/service.ts'
import { StillReferenced } from './errors.ts'

/** Referrers are counted up to here: a count of all would hold up every other write. */
const MOST_COUNTED = 1_000

/** `3 Observation, 1 Encounter` */
const count = (referrers: readonly Referrer[]): string => {
  const byType = [...Map.groupBy(referrers, ({ type }) => type)].map(([type, { length }]) => ({ type, length }))
  byType.sort((one, other) => other.length - one.length || (one.type < other.type ? -1 : 1))
  return byType.map(({ type, length }) => `${length} ${type}`).join(', ')
}

export const refuseDeletions = async (
  references: References,
  request: RequestContext,
  transaction: Transaction,
  deletions: readonly MadeChange[],
): Promise<readonly RefusedChange[]> => {
  const targets = deletions.map(({ version }) => version)
  const found = await references.referrers(transaction, targets, request.baseUrl, MOST_COUNTED + 1)
  if (found.length === 0) return []
  const byTarget = Map.groupBy(found, ({ target }) => target)
  const isCut = found.length > MOST_COUNTED
  return deletions.flatMap(({ interaction, version: { type, id } }) => {
    const target = `${type}/${id}`
    const own = byTarget.get(target)
    if (own === undefined) return []
    const counted = isCut ? `more than ${MOST_COUNTED} resources` : count(own)
    return [{ interaction, error: StillReferenced(target, counted) }]
  })
}

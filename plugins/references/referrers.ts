/** Refuses deletions of resources that others refer to. */
import type { RequestContext } from '../../kernel/index.ts'
import type { Transaction } from '../database/service.ts'
import type { AppliedChange, References, Referrer, RejectedChange } from '../fhir/service.ts'
import { ReferredTo, StillReferenced } from './errors.ts'

/** Referrers are counted up to this number: counting all would delay every other write. */
const MAX_COUNTED = 1_000

/** `3 Observation, 1 Encounter resources`; `1 Observation resource` */
const count = (referrers: readonly Referrer[]): string => {
  const byType = [...Map.groupBy(referrers, ({ type }) => type)].map(([type, { length }]) => ({ type, length }))
  byType.sort((one, other) => other.length - one.length || (one.type < other.type ? -1 : 1))
  const listed = byType.map(({ type, length }) => `${length} ${type}`).join(', ')
  return `${listed} ${referrers.length === 1 ? 'resource' : 'resources'}`
}

export const refuseDeletions = async (
  references: References,
  request: RequestContext,
  transaction: Transaction,
  deletions: readonly AppliedChange[],
): Promise<readonly RejectedChange[]> => {
  const targets = deletions.map(({ version }) => version)
  const found = await references.referrers(transaction, targets, request.ownUrl, MAX_COUNTED + 1)
  if (found.length === 0) return []
  const byTarget = Map.groupBy(found, ({ target }) => target)
  const isCut = found.length > MAX_COUNTED
  return deletions.flatMap(({ interaction, restricted, version: { type, id } }) => {
    const target = `${type}/${id}`
    const own = byTarget.get(target)
    if (own === undefined) return []
    // Types and numbers of referrers would reveal resources that the caller may not see.
    if (restricted !== undefined) return [{ interaction, error: ReferredTo(target) }]
    const counted = isCut ? `more than ${MAX_COUNTED} resources` : count(own)
    return [{ interaction, error: StillReferenced(target, counted) }]
  })
}

/**
 * reference_policy = "strict": a reference must point at a resource that exists here and that its writer may see, and a
 * resource that others refer to cannot be deleted. Checked once all changes of a transaction are made, so that their
 * order does not matter.
 */
import { createPause, type OwnUrl, type RequestContext } from '../../kernel/index.ts'
import { chain, type MaybePromise, type Transaction } from '../database/service.ts'
import type { AppliedChange, Fhir, ReadReference, References, RejectedChange, WriteCheck } from '../fhir/service.ts'
import { faultOfType, NOT_STORED, NOT_VISIBLE, onOtherServer, type ReferenceIssue } from './reference-issue.ts'
import { refuseDeletions } from './referrers.ts'
import { type FoundReferenceIssue, refusalOf } from './refusal.ts'
import type { TargetCache } from './target-cache.ts'
import {
  type Kept,
  keyOf,
  lookFor,
  type Missing,
  type MissingTexts,
  NOTHING_MISSING,
  type Wanted,
  wantedBy,
} from './wanted.ts'

/** Up to so many changes are checked without yielding to the event loop. */
const FEW = 32

const readOne = (references: References, request: RequestContext, change: AppliedChange): Kept | undefined => {
  const { resource, written } = change
  return resource !== undefined && written
    ? { change, resource, references: references.of(resource, request.ownUrl) }
    : undefined
}

const readAll = (
  references: References,
  request: RequestContext,
  changes: readonly AppliedChange[],
): MaybePromise<readonly Kept[]> => {
  const kept: Kept[] = []
  const add = (change: AppliedChange): void => {
    const one = readOne(references, request, change)
    if (one !== undefined) kept.push(one)
  }
  if (changes.length <= FEW) {
    for (const change of changes) add(change)
    return kept
  }
  const addAll = async (): Promise<readonly Kept[]> => {
    const pause = createPause()
    for (const change of changes) {
      add(change)
      await pause()
    }
    return kept
  }
  return addAll()
}

const faultOf = (
  reference: ReadReference,
  missing: MissingTexts,
  { restricted }: AppliedChange,
  ownUrl: OwnUrl | undefined,
): ReferenceIssue | undefined => {
  const fault = faultOfType(reference)
  if (fault !== undefined) return fault
  if (reference.pointing.to === 'elsewhere') return onOtherServer(reference, ownUrl)
  if (missing.size === 0 || !missing.has(reference.text)) return undefined
  return restricted === undefined ? NOT_STORED : NOT_VISIBLE
}

const faultsOf = (
  { references, change }: Kept,
  missing: MissingTexts,
  ownUrl: OwnUrl | undefined,
): readonly FoundReferenceIssue[] => {
  const faults: FoundReferenceIssue[] = []
  for (const [at, reference] of references.entries()) {
    const fault = faultOf(reference, missing, change, ownUrl)
    if (fault !== undefined) faults.push({ at, reference, fault })
  }
  return faults
}

const isDeletion = ({ version, written }: AppliedChange): boolean => version.deleted && written

export const strict = (fhir: Fhir, known: TargetCache): WriteCheck => {
  const refuseKept = ({ ownUrl }: RequestContext, kept: readonly Kept[], missing: Missing): RejectedChange[] => {
    const refused: RejectedChange[] = []
    for (const one of kept) {
      const texts = missing(one)
      const faults = faultsOf(one, texts, ownUrl)
      if (faults.length === 0) continue
      const hidden = faults.some(({ reference }) => texts.get(reference.text) === true)
      refused.push({
        interaction: one.change.interaction,
        error: refusalOf(fhir.references, one.resource, faults).with({ hidden }),
      })
    }
    return refused
  }

  const judge = async (
    request: RequestContext,
    transaction: Transaction,
    changes: readonly AppliedChange[],
    kept: readonly Kept[],
    wanted: Wanted,
  ): Promise<readonly RejectedChange[]> => {
    const { references } = fhir
    const missing = await lookFor(references, transaction, wanted)
    if (wanted.isOpen && wanted.held.size > 0 && missing === NOTHING_MISSING) known.found(changes, wanted.held.values())
    const refused = refuseKept(request, kept, missing)
    const deletions = changes.filter(isDeletion)
    if (deletions.length > 0) refused.push(...(await refuseDeletions(references, request, transaction, deletions)))
    return refused
  }

  return {
    name: 'references',
    checkInTransaction(request, transaction, changes) {
      for (const change of changes) if (isDeletion(change)) known.doom(keyOf(change.version))
      return chain(readAll(fhir.references, request, changes), (kept) => {
        const wanted = wantedBy(fhir.references, kept, known, request.ownUrl)
        // Changes without references or deletions need no query.
        if (wanted.held.size === 0 && wanted.seen.size === 0 && !changes.some(isDeletion))
          return refuseKept(request, kept, NOTHING_MISSING)
        return judge(request, transaction, changes, kept, wanted)
      })
    },
    afterCommit: (changes) => known.committed(changes),
  }
}

/**
 * reference_policy = "strict": a reference points at a resource that this server holds, and a resource that others refer
 * to is not deleted. Judged once all changes of a transaction are made, so that their order does not matter.
 */
import type { RequestContext } from '../../kernel/index.ts'
import type { Transaction } from '../database/service.ts'
import type { Fhir, MadeChange, ReadReference, References, RefusedChange, Target, WriteCheck } from '../fhir/service.ts'
import { ELSEWHERE, type Fault, faultOfType, NOT_HELD } from './fault.ts'
import { refuseDeletions } from './referrers.ts'
import { type FoundFault, refusalOf } from './refusal.ts'

/** A change that leaves a resource, with its references. */
interface Kept {
  readonly change: MadeChange
  readonly resource: Readonly<Record<string, unknown>>
  readonly references: readonly ReadReference[]
}

const keyOf = ({ type, id }: Target): string => `${type}/${id}`

const readAll = (references: References, request: RequestContext, changes: readonly MadeChange[]): readonly Kept[] =>
  changes.flatMap((change) => {
    const { resource, written } = change
    return resource === undefined || !written
      ? []
      : [{ change, resource, references: references.of(resource, request.baseUrl) }]
  })

/** Every target once; what this transaction has written itself is there. */
const wantedBy = (kept: readonly Kept[]): Map<string, Target> => {
  const own = new Set(kept.map(({ change: { version } }) => keyOf(version)))
  const wanted = new Map<string, Target>()
  for (const { references } of kept)
    for (const { text, pointing } of references)
      if (pointing.to === 'here' && (pointing.target.version !== undefined || !own.has(keyOf(pointing.target))))
        wanted.set(text, pointing.target)
  return wanted
}

/** Those of `wanted` that are not held, by their text. */
const missingOf = async (
  references: References,
  transaction: Transaction,
  wanted: ReadonlyMap<string, Target>,
): Promise<ReadonlySet<string>> => {
  const texts = [...wanted.keys()]
  const held = await references.held(transaction, [...wanted.values()])
  return new Set(texts.filter((_text, at) => !held.has(at)))
}

const NONE: ReadonlySet<string> = new Set()

const faultOf = (reference: ReadReference, missing: ReadonlySet<string>): Fault | undefined => {
  if (reference.pointing.to === 'elsewhere') return faultOfType(reference) ?? ELSEWHERE
  return faultOfType(reference) ?? (missing.has(reference.text) ? NOT_HELD : undefined)
}

export const strict = (fhir: Fhir): WriteCheck => ({
  name: 'references',
  async confirm(request, transaction, changes) {
    const { references } = fhir
    const kept = readAll(references, request, changes)
    const wanted = wantedBy(kept)
    const missing = wanted.size === 0 ? NONE : await missingOf(references, transaction, wanted)
    const refused: RefusedChange[] = []
    for (const { change, resource, references: own } of kept) {
      const faults = own.flatMap((reference, at): FoundFault[] => {
        const fault = faultOf(reference, missing)
        return fault === undefined ? [] : [{ at, reference, fault }]
      })
      if (faults.length > 0)
        refused.push({ interaction: change.interaction, error: refusalOf(references, resource, faults) })
    }
    const deletions = changes.filter(({ version, written }) => version.deleted && written)
    if (deletions.length > 0) refused.push(...(await refuseDeletions(references, request, transaction, deletions)))
    return refused
  },
})

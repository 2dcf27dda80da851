/**
 * reference_policy = "strict": a reference points at a resource that this server holds, and a resource that others refer
 * to is not deleted. Judged once all changes of a transaction are made, so that their order does not matter.
 */
import type { RequestContext } from '../../kernel/index.ts'
import type { Transaction } from '../database/service.ts'
import type { Fhir, MadeChange, ReadReference, References, RefusedChange, Target, WriteCheck } from '../fhir/service.ts'
import { ELSEWHERE, type Fault, faultOfType, NOT_HELD } from './fault.ts'
import type { KnownTargets } from './known-targets.ts'
import { refuseDeletions } from './referrers.ts'
import { type FoundFault, refusalOf } from './refusal.ts'

/** A change that leaves a resource, with its references. */
interface Kept {
  readonly change: MadeChange
  readonly resource: Readonly<Record<string, unknown>>
  readonly references: readonly ReadReference[]
}

const SLASH = 47
const keyOf = ({ type, id }: Target): string => `${type}/${id}`

/** The same, where the text of a reference is just that: one that was read is found faster than one that is made. */
const keyIn = (text: string, target: Target): string => {
  const { type, id } = target
  const isKey =
    text.length === type.length + 1 + id.length &&
    text.charCodeAt(type.length) === SLASH &&
    text.startsWith(type) &&
    text.endsWith(id)
  return isKey ? text : keyOf(target)
}

const readAll = (references: References, request: RequestContext, changes: readonly MadeChange[]): readonly Kept[] => {
  const kept: Kept[] = []
  for (const change of changes) {
    const { resource, written } = change
    if (resource !== undefined && written)
      kept.push({ change, resource, references: references.of(resource, request.baseUrl) })
  }
  return kept
}

const NONE: ReadonlySet<string> = new Set()

/** Targets by the text that names them, each once; what this transaction has written itself is there. */
const wantedBy = (kept: readonly Kept[], known: KnownTargets): ReadonlyMap<string, Target> => {
  const own = kept.length === 1 ? NONE : new Set(kept.map(({ change: { version } }) => keyOf(version)))
  const wanted = new Map<string, Target>()
  for (const { references } of kept)
    for (const { text, pointing } of references) {
      if (pointing.to !== 'here') continue
      const { target } = pointing
      if (target.version === undefined) {
        const key = keyIn(text, target)
        if (own.has(key) || known.has(key)) continue
      }
      wanted.set(text, target)
    }
  return wanted
}

/** Texts of those that are not held. */
const missingOf = (wanted: ReadonlyMap<string, Target>, held: ReadonlySet<number>): ReadonlySet<string> =>
  held.size === wanted.size ? NONE : new Set([...wanted.keys()].filter((_text, at) => !held.has(at)))

const faultOf = (reference: ReadReference, missing: ReadonlySet<string>): Fault | undefined => {
  const fault = faultOfType(reference)
  if (fault !== undefined) return fault
  if (reference.pointing.to === 'elsewhere') return ELSEWHERE
  return missing.size > 0 && missing.has(reference.text) ? NOT_HELD : undefined
}

const faultsOf = ({ references }: Kept, missing: ReadonlySet<string>): readonly FoundFault[] => {
  const faults: FoundFault[] = []
  for (const [at, reference] of references.entries()) {
    const fault = faultOf(reference, missing)
    if (fault !== undefined) faults.push({ at, reference, fault })
  }
  return faults
}

const isDeletion = ({ version, written }: MadeChange): boolean => version.deleted && written

export const strict = (fhir: Fhir, known: KnownTargets): WriteCheck => {
  const refuseKept = (kept: readonly Kept[], missing: ReadonlySet<string>): RefusedChange[] => {
    const refused: RefusedChange[] = []
    for (const one of kept) {
      const faults = faultsOf(one, missing)
      if (faults.length > 0)
        refused.push({
          interaction: one.change.interaction,
          error: refusalOf(fhir.references, one.resource, faults),
        })
    }
    return refused
  }

  const judge = async (
    request: RequestContext,
    transaction: Transaction,
    changes: readonly MadeChange[],
    kept: readonly Kept[],
    wanted: ReadonlyMap<string, Target>,
  ): Promise<readonly RefusedChange[]> => {
    const { references } = fhir
    const held = wanted.size === 0 ? undefined : await references.held(transaction, [...wanted.values()])
    if (held?.size === wanted.size) known.found(changes, wanted.values())
    const refused = refuseKept(kept, held === undefined ? NONE : missingOf(wanted, held))
    const deletions = changes.filter(isDeletion)
    if (deletions.length > 0) refused.push(...(await refuseDeletions(references, request, transaction, deletions)))
    return refused
  }

  return {
    name: 'references',
    confirm(request, transaction, changes) {
      for (const change of changes) if (isDeletion(change)) known.doom(keyOf(change.version))
      const kept = readAll(fhir.references, request, changes)
      const wanted = wantedBy(kept, known)
      // What neither refers to anything nor deletes anything is judged at once.
      if (wanted.size === 0 && !changes.some(isDeletion)) return refuseKept(kept, NONE)
      return judge(request, transaction, changes, kept, wanted)
    },
    committed: (changes) => known.committed(changes),
  }
}

/**
 * Resolves a conditional reference of a transaction, such as `Patient?identifier=x`. It must match exactly one
 * resource, stored or written by the same transaction. https://hl7.org/fhir/R4/http.html#trules
 */

import type { Clock, RequestContext } from '../../../kernel/index.ts'
import { type TypeCatalog, typeOf } from '../../model/service.ts'
import type { Registry } from '../../search/service.ts'
import { indexedOf } from '../../search/thread-service.ts'
import { Contended } from '../../storage/service.ts'
import { authorize } from '../dispatch.ts'
import { matching } from '../interactions/conditional.ts'
import type { View } from '../view.ts'
import { namesResource } from './entry-interaction.ts'
import { ConditionalReferenceMany, ConditionalReferenceNone, ConditionalReferenceUndecided } from './errors.ts'
import type { Located } from './located-entry.ts'
import { splitConditionalReference } from './split-condition.ts'

export interface ResolvedReference {
  /** `Patient/1` */
  readonly reference: string
  /** Inside the transaction: throws Contended when the reference matches something else by now. */
  verify(view: View): Promise<void>
}

export interface ConditionalReferenceParts {
  readonly catalog: Pick<TypeCatalog, 'types'>
  readonly clock: Clock
  readonly registry: Pick<Registry, 'extract'>
}

/**
 * `index` is the entry with the reference; `drafts` are the resources that this transaction writes, by entry. Throws
 * 400, 403, 404, 412.
 */
export const resolveConditionalReference = async (
  parts: ConditionalReferenceParts,
  view: View,
  ctx: RequestContext,
  value: string,
  index: number,
  located: readonly Located[],
  drafts: ReadonlyMap<number, { readonly text: string; readonly resource: Record<string, unknown> }>,
): Promise<ResolvedReference> => {
  const { type, query } = splitConditionalReference(value) as { type: string; query: string }
  typeOf(parts, type)
  const ruling = await authorize(view.run, ctx, { kind: 'search-type', type, entry: index })
  const match = await matching(view, ctx, ruling, type, query)

  /** Ids of the type that this transaction writes or deletes. Their stored versions are not matches. */
  const replaced = new Set<string>()
  const found = new Set<string>()
  for (const { step, target } of located) {
    const { interaction } = step.addressed
    if (interaction.type !== type || step.entry.method === 'PATCH' || !namesResource(step)) continue
    if (step.entry.method === 'POST' && target.found !== undefined) continue
    for (const id of [target.id, ...(target.others ?? [])]) replaced.add(id)
    const draft = drafts.get(step.entry.index)
    if (step.entry.method === 'DELETE' || draft === undefined) continue
    const subject = {
      type,
      id: target.id,
      versionTime: parts.clock.now() * 1000,
      rows: parts.registry.extract(indexedOf(draft.resource, draft.text)),
    }
    const isMatch = match.conditions.every(({ matches }) => {
      if (matches === undefined) throw ConditionalReferenceUndecided(type)
      return matches(subject)
    })
    if (isMatch) found.add(target.id)
  }
  const stored = async ({ search }: View): Promise<readonly string[]> =>
    (await match.find(search, 2 + replaced.size)).map(({ id }) => id).filter((id) => !replaced.has(id))
  const before = await stored(view)
  for (const id of before) found.add(id)
  const [only, ...others] = found
  if (only === undefined) throw ConditionalReferenceNone(type)
  if (others.length > 0) throw ConditionalReferenceMany(type)
  return {
    reference: `${type}/${only}`,
    async verify(here) {
      // Takes no lock, because nothing is created under this condition: later matches are committed after this
      // transaction.
      if ((await stored(here)).join(' ') !== before.join(' ')) throw Contended()
    },
  }
}

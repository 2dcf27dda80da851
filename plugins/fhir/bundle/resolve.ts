/**
 * Resolves the links in the resources of a transaction: links between entries, and conditional references by a search.
 * https://hl7.org/fhir/R4/http.html#trules
 */
import { type RequestContext, toServerError } from '../../../kernel/index.ts'
import type { ParsedResource, ReferenceWalker } from '../../model/service.ts'
import { type Resolve, rewriteReferences } from '../../model/service.ts'
import { emitRefused } from '../dispatch.ts'
import { interactionAbout, isContention } from '../interactions/change.ts'
import type { View } from '../view.ts'
import {
  type ConditionalReferenceParts,
  type ResolvedReference,
  resolveConditionalReference,
} from './conditional-reference.ts'
import { toBody } from './entry-body.ts'
import { issuesOfEntry } from './entry-error.ts'
import { namesResource } from './entry-interaction.ts'
import { createIdentities } from './identities.ts'
import type { Located } from './located-entry.ts'
import { conditionsOf, type Relink, relinkPatched } from './patch-links.ts'
import { splitConditionalReference } from './split-condition.ts'
import { createYield } from './yield.ts'

export interface ResolvedBody extends ParsedResource {
  /** Set for a patch. */
  readonly relink: Relink | undefined
}

export interface ResolvedBodies {
  /** The bodies from which the changes are prepared, by index of the entry. */
  readonly bodies: ReadonlyMap<number, ResolvedBody>
  /** Inside the transaction: throws Contended when a conditional reference matches something else by now. */
  verify(view: View): Promise<void>
}

interface Draft {
  text: string
  readonly relink: Relink | undefined
  readonly resource: Record<string, unknown>
}

export interface ResolveParts extends ConditionalReferenceParts {
  readonly referenceWalker: ReferenceWalker
}

/** `again`: an earlier attempt has replaced links in the parsed resources, so they are parsed again from their text. */
export const resolveReferences = async (
  parts: ResolveParts,
  view: View,
  ctx: RequestContext,
  located: readonly Located[],
  again: boolean,
): Promise<ResolvedBodies> => {
  const { referenceWalker } = parts
  const breathe = createYield(ctx)
  const identities = createIdentities(ctx.ownUrl)
  for (const { step, target } of located) {
    const { fullUrl, method, resource } = step.entry
    if (fullUrl === undefined || method === 'DELETE' || !namesResource(step)) continue
    const sent = (resource?.meta as { versionId?: unknown } | undefined)?.versionId
    identities.add(fullUrl, {
      type: step.addressed.interaction.type as string,
      id: target.id,
      sentVersion: typeof sent === 'string' ? sent : undefined,
      version: method === 'POST' ? (target.found?.version ?? 1) : undefined,
    })
  }

  const drafts = new Map<number, Draft>()
  const conditions = new Map<string, ResolvedReference>()
  const referenceTo: Resolve = (value, kind) => (kind === 'reference' ? conditions.get(value)?.reference : undefined)
  const relinkWith = (fullUrl: string | undefined, resolve: Resolve): Relink => ({
    apply: (patched, current) => relinkPatched(referenceWalker, resolve, patched, current),
    source: () => ({
      ownUrl: ctx.ownUrl,
      fullUrl,
      identities: identities.entries(),
      conditions: new Map([...conditions].map(([value, { reference }]) => [value, reference])),
    }),
  })
  /** Conditional reference → index of the first entry that has it. */
  const pending = new Map<string, number>()
  for (const { step } of located) {
    const { index, fullUrl, method, text, resource } = step.entry
    if (text === undefined || resource === undefined) continue
    const own = again ? (JSON.parse(text) as Record<string, unknown>) : resource
    const resolve = identities.resolver(fullUrl)
    const expect = (value: string): void => {
      if (splitConditionalReference(value) !== undefined && !pending.has(value)) pending.set(value, index)
    }
    const resolved = rewriteReferences(referenceWalker, text, own, (value, kind) => {
      const found = resolve(value, kind)
      if (found === undefined && kind === 'reference') expect(value)
      return found
    })
    if (method === 'PATCH') conditionsOf(own).forEach(expect)
    const relink =
      method === 'PATCH'
        ? relinkWith(fullUrl, (value, kind) => resolve(value, kind) ?? referenceTo(value, kind))
        : undefined
    drafts.set(index, { text: resolved, resource: own, relink })
    await breathe()
  }

  for (const [value, index] of pending)
    try {
      conditions.set(value, await resolveConditionalReference(parts, view, ctx, value, index, located, drafts))
    } catch (error) {
      const known = toServerError(error)
      const holder = located.find(({ step }) => step.entry.index === index)
      if (holder !== undefined && !isContention(error))
        await emitRefused(view.run, ctx, interactionAbout(holder.step.addressed, holder.target), error)
      throw known.with({ issues: issuesOfEntry(known, index) })
    }
  if (conditions.size > 0)
    for (const draft of drafts.values())
      draft.text = rewriteReferences(referenceWalker, draft.text, draft.resource, referenceTo)

  const bodies = new Map<number, ResolvedBody>()
  for (const [index, { text, resource, relink }] of drafts) {
    bodies.set(index, { ...toBody(text, resource), relink })
    await breathe()
  }

  return {
    bodies,
    async verify(here) {
      for (const { verify } of conditions.values()) await verify(here)
    },
  }
}

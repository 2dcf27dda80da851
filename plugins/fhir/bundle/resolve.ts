/**
 * The resources of a transaction with the links between them resolved: to each other, and by search where a reference is
 * a condition. https://hl7.org/fhir/R4/http.html#trules
 */
import { type RequestContext, toServerError } from '../../../kernel/index.ts'
import type { ReadResource } from '../json/read.ts'
import { rewriteLinks } from '../links/rewrite.ts'
import type { FhirServer } from '../server.ts'
import { breathe } from './breathe.ts'
import { type Resolved, resolveCondition, splitCondition } from './condition.ts'
import { issuesOfEntry } from './entry-error.ts'
import { createIdentities } from './identities.ts'
import { isAboutResource } from './step.ts'
import { toBody } from './text.ts'
import type { Located } from './transaction.ts'

export interface ResolvedBodies {
  /** By index of the entry: what its change is prepared from. */
  readonly bodies: ReadonlyMap<number, ReadResource>
  /** Inside the transaction: throws Contended when a condition matches something else by now. */
  verify(server: FhirServer): Promise<void>
}

interface Draft {
  text: string
  readonly resource: Record<string, unknown>
}

/** `again`: links were replaced in the parsed resources before, for other identities. */
export const resolveLinks = async (
  server: FhirServer,
  ctx: RequestContext,
  located: readonly Located[],
  again: boolean,
): Promise<ResolvedBodies> => {
  const { links } = server
  const identities = createIdentities(ctx.baseUrl)
  for (const { step, target } of located) {
    const { fullUrl, method, resource } = step.entry
    if (fullUrl === undefined || method === 'DELETE' || !isAboutResource(step)) continue
    const sent = (resource?.meta as { versionId?: unknown } | undefined)?.versionId
    identities.add(fullUrl, {
      type: step.addressed.interaction.type as string,
      id: target.id,
      sentVersion: typeof sent === 'string' ? sent : undefined,
      version: method === 'POST' ? (target.found?.version ?? 1) : undefined,
    })
  }

  const drafts = new Map<number, Draft>()
  /** Condition → the first entry that holds it. */
  const pending = new Map<string, number>()
  for (const [at, { step }] of located.entries()) {
    const { index, fullUrl, text, resource } = step.entry
    if (text === undefined || resource === undefined) continue
    const own = again ? (JSON.parse(text) as Record<string, unknown>) : resource
    const resolve = identities.resolver(fullUrl)
    const resolved = rewriteLinks(links, text, own, (value, kind) => {
      const found = resolve(value, kind)
      if (found === undefined && kind === 'reference' && splitCondition(value) !== undefined && !pending.has(value))
        pending.set(value, index)
      return found
    })
    drafts.set(index, { text: resolved, resource: own })
    await breathe(ctx, at)
  }

  const conditions = new Map<string, Resolved>()
  for (const [value, index] of pending)
    try {
      conditions.set(value, await resolveCondition(server, ctx, value, index, located, drafts))
    } catch (error) {
      const known = toServerError(error)
      throw known.with({ issues: issuesOfEntry(known, index) })
    }
  if (conditions.size > 0)
    for (const draft of drafts.values())
      draft.text = rewriteLinks(links, draft.text, draft.resource, (value, kind) =>
        kind === 'reference' ? conditions.get(value)?.reference : undefined,
      )

  return {
    bodies: new Map([...drafts].map(([index, { text, resource }]) => [index, toBody(text, resource)])),
    async verify(here) {
      for (const { verify } of conditions.values()) await verify(here)
    },
  }
}

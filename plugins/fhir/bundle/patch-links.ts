/**
 * Replaces links in the result of a transaction's patch. The text of a patch does not show which of its strings are
 * links, because a patch is no resource; the patched resource shows it. https://hl7.org/fhir/R4/http.html#trules
 */

import type { ReferenceWalker } from '../../model/service.ts'
import { type Resolve, rewriteReferences } from '../../model/service.ts'
import { type HeldBefore, heldBefore } from './held-before.ts'
import { createIdentities } from './identities.ts'
import type { LinkSource } from './link-source.ts'
import { splitConditionalReference } from './split-condition.ts'

type Json = Record<string, unknown>

export interface Relink {
  /**
   * Takes the JSON of the patched resource, and the JSON before the patch. Returns the patched JSON with the links
   * replaced that the patch has added.
   */
  apply(patched: string, current: string): string
  source(): LinkSource
}

/** A link that was in the same element before the patch is left as it is: it refers to no entry of this transaction. */
export const relinkPatched = (walker: ReferenceWalker, resolve: Resolve, patched: string, current: string): string => {
  const resource = JSON.parse(patched) as Json
  let held: HeldBefore | undefined
  return rewriteReferences(walker, patched, resource, (value, kind, holder, key) => {
    const found = resolve(value, kind)
    if (found === undefined) return undefined
    // Computed only when a link is to be replaced, and before the first one is.
    held ??= heldBefore(walker, resource, JSON.parse(current) as Json)
    return held(value, holder, key) ? undefined : found
  })
}

/** For a thread: makes the function that resolves links. */
export const resolveFrom = ({ ownUrl, fullUrl, identities, conditions }: LinkSource): Resolve => {
  const known = createIdentities(ownUrl)
  for (const [url, identity] of identities) known.add(url, identity)
  const resolve = known.resolver(fullUrl)
  return (value, kind) => resolve(value, kind) ?? (kind === 'reference' ? conditions.get(value) : undefined)
}

/** The JSON Patch or merge patch in a Binary. Undefined for anything else; reading the patch reports what is wrong. */
const readData = ({ resourceType, data }: Record<string, unknown>): unknown => {
  if (resourceType !== 'Binary' || typeof data !== 'string') return undefined
  try {
    return JSON.parse(Buffer.from(data, 'base64').toString('utf8'))
  } catch {
    return undefined
  }
}

/** Conditional references in a patch. They are searched for before the transaction. */
export const conditionsOf = (patch: Record<string, unknown>): readonly string[] => {
  const found = new Set<string>()
  const visit = (value: unknown, key: string): void => {
    if (typeof value === 'string') {
      if (key === 'reference' && splitConditionalReference(value) !== undefined) found.add(value)
      return
    }
    if (typeof value !== 'object' || value === null) return
    const { path } = value as { path?: unknown }
    // In an operation of a JSON Patch, the last segment of `path` names the element that gets `value`.
    const last = typeof path === 'string' ? path.slice(path.lastIndexOf('/') + 1) : 'value'
    for (const [name, one] of Object.entries(value))
      visit(one, name === 'value' ? last : Array.isArray(value) ? key : name)
  }
  visit(readData(patch), '')
  return [...found]
}

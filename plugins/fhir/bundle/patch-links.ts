/**
 * Links in a patch of a transaction. A patch is no resource, so its own text does not tell which of its strings are links;
 * the resource that it makes does. https://hl7.org/fhir/R4/http.html#trules
 */

import type { ReferenceWalker } from '../../model/service.ts'
import { type Resolve, rewriteReferences } from '../../model/service.ts'
import { type HeldBefore, heldBefore } from './held-before.ts'
import { createIdentities } from './identities.ts'
import type { LinkSource } from './link-source.ts'
import { splitConditionalReference } from './split-condition.ts'

type Json = Record<string, unknown>

export interface Relink {
  /** Replaces the links that a patch brings: the JSON of the patched resource from itself and from the JSON before the patch. */
  apply(patched: string, current: string): string
  source(): LinkSource
}

/** A link that the resource held in the same element before the patch is not one of this transaction. */
export const relinkPatched = (walker: ReferenceWalker, resolve: Resolve, patched: string, current: string): string => {
  const resource = JSON.parse(patched) as Json
  let held: HeldBefore | undefined
  return rewriteReferences(walker, patched, resource, (value, kind, holder, key) => {
    const found = resolve(value, kind)
    if (found === undefined) return undefined
    // Compared once there is something to replace, and before anything is.
    held ??= heldBefore(walker, resource, JSON.parse(current) as Json)
    return held(value, holder, key) ? undefined : found
  })
}

/** In a thread. */
export const resolveFrom = ({ ownUrl, fullUrl, identities, conditions }: LinkSource): Resolve => {
  const known = createIdentities(ownUrl)
  for (const [url, identity] of identities) known.add(url, identity)
  const resolve = known.resolver(fullUrl)
  return (value, kind) => resolve(value, kind) ?? (kind === 'reference' ? conditions.get(value) : undefined)
}

/** JSON Patch and merge patch, as the data of a Binary. Undefined for what is neither: the patch itself says what is wrong. */
const readData = ({ resourceType, data }: Record<string, unknown>): unknown => {
  if (resourceType !== 'Binary' || typeof data !== 'string') return undefined
  try {
    return JSON.parse(Buffer.from(data, 'base64').toString('utf8'))
  } catch {
    return undefined
  }
}

/** Conditional references that a patch brings; they have to be searched for before the transaction. */
export const conditionsOf = (patch: Record<string, unknown>): readonly string[] => {
  const found = new Set<string>()
  const visit = (value: unknown, key: string): void => {
    if (typeof value === 'string') {
      if (key === 'reference' && splitConditionalReference(value) !== undefined) found.add(value)
      return
    }
    if (typeof value !== 'object' || value === null) return
    const { path } = value as { path?: unknown }
    // Of an operation of a JSON Patch: its path names what the value is.
    const last = typeof path === 'string' ? path.slice(path.lastIndexOf('/') + 1) : 'value'
    for (const [name, one] of Object.entries(value))
      visit(one, name === 'value' ? last : Array.isArray(value) ? key : name)
  }
  visit(readData(patch), '')
  return [...found]
}

/**
 * Finds out which links of a patched resource were in the same element before the patch. List indexes are ignored,
 * because a patch moves the items of a list. When a list has more equal links than before, the first ones count as old.
 */
import type { ReferenceWalker } from '../../model/service.ts'
import { type ReferenceKind, rewriteReferences } from '../../model/service.ts'

type Holder = Record<string, unknown> | unknown[]

/** True when `value`, now at `holder[key]` of the patched resource, was in the same element before the patch. */
export type HeldBefore = (value: string, holder: Holder, key: string | number) => boolean

/** The path of each object and list. An extension is named by its URL. */
const pathsOf = (resource: Holder): ReadonlyMap<object, string> => {
  const paths = new Map<object, string>()
  const visit = (holder: Holder, path: string): void => {
    const url = Array.isArray(holder) ? undefined : holder.url
    const own = typeof url === 'string' && path.endsWith('xtension') ? `${path}(${url})` : path
    paths.set(holder, own)
    for (const [key, child] of Object.entries(holder))
      if (typeof child === 'object' && child !== null)
        visit(child as Holder, Array.isArray(holder) ? own : `${own}.${key}`)
  }
  visit(resource, '')
  return paths
}

/** Calls `found` for each link. `name` identifies the link by its element and value. */
const eachLink = (
  walker: ReferenceWalker,
  resource: Record<string, unknown>,
  found: (name: string, value: string, holder: Holder, key: string | number) => void,
): void => {
  const paths = pathsOf(resource)
  // The callback replaces nothing, so the text may be empty.
  rewriteReferences(walker, '', resource, (value: string, kind: ReferenceKind, holder, key) => {
    const path = paths.get(holder) ?? ''
    found(JSON.stringify([kind, Array.isArray(holder) ? path : `${path}.${key}`, value]), value, holder, key)
    return undefined
  })
}

export const heldBefore = (
  walker: ReferenceWalker,
  patched: Record<string, unknown>,
  current: Record<string, unknown>,
): HeldBefore => {
  const before = new Map<string, number>()
  eachLink(walker, current, (name) => before.set(name, (before.get(name) ?? 0) + 1))
  const held = new Map<Holder, Set<string>>()
  const place = (value: string, key: string | number): string => `${key} ${value}`
  eachLink(walker, patched, (name, value, holder, key) => {
    const left = before.get(name) ?? 0
    if (left === 0) return
    before.set(name, left - 1)
    held.set(holder, (held.get(holder) ?? new Set()).add(place(value, key)))
  })
  return (value, holder, key) => held.get(holder)?.has(place(value, key)) === true
}

/**
 * Adds index rows for references that no search parameter covers, such as those in extensions and in contained
 * resources. So everything that refers to a resource can be found. A resource has one row for each target, however often it refers
 * to it.
 */

import { createLocalTargets, type ReferenceWalker, readLiteral } from '../../model/service.ts'
import { ABSOLUTE } from '../definition/column-codes.ts'
import { absoluteTarget } from './convert/reference.ts'
import type { Hasher } from './hash.ts'

/** From this length on a list is searched with a Set. */
const FEW = 16

/**
 * Adds to `rows` (column, target; column, target; …) the references that are not yet in it. Rows of a column count
 * only where `counts` returns true: columns of canonicals do not.
 */
export const addUnlistedReferences = (
  walker: ReferenceWalker,
  { long, short }: Hasher,
  resource: Readonly<Record<string, unknown>>,
  column: number,
  counts: (column: number) => boolean,
  rows: number[],
): void => {
  const references = walker.references(resource)
  if (references.length === 0) return
  let known: Set<number> | undefined
  const isKnown = (target: number): boolean => {
    if (known === undefined && references.length > FEW) {
      known = new Set()
      for (let at = 0; at < rows.length; at += 2) if (counts(rows[at] as number)) known.add(rows[at + 1] as number)
    }
    if (known !== undefined) return known.has(target)
    for (let at = 0; at < rows.length; at += 2) if (rows[at + 1] === target && counts(rows[at] as number)) return true
    return false
  }
  const inside = createLocalTargets()
  for (const { value, scope } of references) {
    const { reference } = value
    if (typeof reference !== 'string') continue
    const literal = readLiteral(reference)
    if (literal === undefined || inside.entry(reference, scope) !== undefined) continue
    const { base, type, id } = literal
    const relative = long(`${type}/${id}`)
    const target = base === '' ? relative : absoluteTarget(relative, short(base))
    if (isKnown(target)) continue
    rows.push(base === '' ? column : column + ABSOLUTE, target)
    known?.add(target)
  }
}

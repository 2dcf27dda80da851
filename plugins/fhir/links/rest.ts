/**
 * Index rows of the references that no search parameter holds, so that what refers to a resource is found whatever
 * element it stands in: in extensions, in contained resources, in elements nobody searches. Each target is one row.
 */
import { createInside } from './inside.ts'
import type { Links } from './links.ts'
import { readLiteral } from './literal.ts'

/** Expression of the column that holds them: one for each type. */
export const REST = '%resource.references'
/** Beside it: targets of absolute URLs, by type and id alone. Which server they mean is told from the resource. */
export const REST_ABSOLUTE = 1

/** From so many on a list is searched as a set. */
const FEW = 16

/**
 * Adds to `rows` (column, target; column, target; …) what is not in them under one of `counts`. A column that holds
 * canonicals does not count.
 */
export const addRest = (
  links: Links,
  long: (text: string) => number,
  resource: Readonly<Record<string, unknown>>,
  column: number,
  counts: (column: number) => boolean,
  rows: number[],
): void => {
  const references = links.references(resource)
  if (references.length === 0) return
  const indexed = rows.length
  let known: Set<number> | undefined
  const isKnown = (target: number): boolean => {
    if (known === undefined && references.length > FEW) {
      known = new Set()
      for (let at = 0; at < indexed; at += 2) if (counts(rows[at] as number)) known.add(rows[at + 1] as number)
    }
    if (known !== undefined) return known.has(target)
    for (let at = 0; at < indexed; at += 2) if (rows[at + 1] === target && counts(rows[at] as number)) return true
    return false
  }
  const inside = createInside()
  for (const { value, scope } of references) {
    const { reference } = value
    if (typeof reference !== 'string') continue
    const literal = readLiteral(reference)
    if (literal === undefined || inside.entry(reference, scope) !== undefined) continue
    const target = long(`${literal.type}/${literal.id}`)
    if (literal.base !== '') rows.push(column + REST_ABSOLUTE, target)
    else if (!isKnown(target)) rows.push(column, target)
  }
}

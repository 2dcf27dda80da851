/** Turns ids, typed ids, URLs and versions into lookups of references. https://hl7.org/fhir/R4/search.html#reference */

import type { ParameterColumn } from '../../definition/parameter.ts'
import { SearchEmpty, SearchValue } from '../../errors.ts'
import { REFERENCE_COLUMNS } from '../../index/index-entries.ts'
import { and, isIn } from '../../sql/fragment.ts'
import { unescapeValue } from '../escape.ts'
import type { IndexLookup } from '../index-lookup.ts'
import { codesOf, type ValueContext } from '../value-context.ts'

const ID = /^[A-Za-z0-9\-.]{1,64}$/
const LITERAL = /^([A-Z][A-Za-z]+)\/([A-Za-z0-9\-.]{1,64})(\/_history\/[A-Za-z0-9\-.]{1,64})?$/

/**
 * Texts of the references that match a value. A bare id may belong to any of `types`. `only`: the one type that a
 * modifier or the parameter allows.
 */
export const referenceTargets = (
  { name, ownUrl }: Pick<ValueContext, 'name' | 'ownUrl'>,
  text: string,
  types: readonly string[],
  only?: string,
): readonly string[] => {
  const value = ownUrl !== undefined && text.startsWith(`${ownUrl}/`) ? text.slice(ownUrl.length + 1) : text
  const spelled = (path: string): readonly string[] => (ownUrl === undefined ? [path] : [path, `${ownUrl}/${path}`])
  if (value === '') throw SearchEmpty(name)
  const literal = LITERAL.exec(value)
  if (literal !== null) return only !== undefined && literal[1] !== only ? [] : spelled(value)
  if (ID.test(value)) {
    if (types.length === 0)
      throw SearchValue(name, 'a reference with its type, such as Patient/23: it may point at many')
    // A relative canonical may look like an id.
    const itself = only === undefined ? [value] : []
    return [...types.flatMap((type) => spelled(`${type}/${value}`)), ...itself]
  }
  if (/^[a-z][a-z0-9+.-]*:/i.test(value)) return [value]
  throw SearchValue(name, 'a reference: Type/id, id or a URL')
}

const hasReference =
  (codes: readonly number[], targets: readonly number[]): IndexLookup['matches'] =>
  ({ reference }) => {
    // Without `someRow`, whose function would be made for each of thousands of live queries that a change may hit.
    for (let at = 0; at < reference.length; at += REFERENCE_COLUMNS)
      if (codes.includes(reference[at] as number) && targets.includes(reference[at + 1] as number)) return true
    return false
  }

export const referenceLookup = (columns: readonly ParameterColumn[], targets: readonly number[]): IndexLookup => {
  const codes = codesOf(columns)
  return {
    table: 'ix_ref',
    where: and([isIn('x.param', codes), isIn('x.target', targets)]),
    isOrdered: codes.length === 1 && targets.length === 1,
    probeable: true,
    matches: hasReference(codes, targets),
    keys: codes.flatMap((column) =>
      targets.map((value) => ({ kind: 'reference' as const, column, value, system: undefined })),
    ),
  }
}

/** `only`: the type that a modifier names. `types`: the types that a bare id may belong to. */
export const referenceLookups = (
  context: ValueContext,
  values: readonly string[],
  types: readonly string[],
  only: string | undefined,
): IndexLookup[] =>
  [...Map.groupBy(context.columns, ({ refers }) => refers)].map(([refers, columns]) => {
    // A parameter for references to one type matches nothing when the modifier names another.
    if (only !== undefined && refers !== undefined && only !== refers) return referenceLookup(columns, [])
    const narrowed = only ?? refers
    const targets = values.flatMap((value) =>
      referenceTargets(context, unescapeValue(value), narrowed === undefined ? types : [narrowed], narrowed),
    )
    return referenceLookup(columns, [...new Set(targets)].map(context.hasher.long))
  })

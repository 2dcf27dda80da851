/** Composites: values of one element, joined by `$`. https://hl7.org/fhir/R4/search.html#combining */
import type { IndexKind } from '../../definition/kind.ts'
import { SearchEmpty, SearchValue } from '../../errors.ts'
import { COMPOSITE, COMPOSITE_COLUMNS } from '../../index/index-entries.ts'
import { normalize } from '../../index/normalize.ts'
import { and, type Fragment, isIn, or, q, raw } from '../../sql/fragment.ts'
import { splitEscaped, unescapeValue } from '../escape.ts'
import { type IndexLookup, someRow } from '../index-lookup.ts'
import { codesOf, type ValueContext } from '../value-context.ts'
import { componentBounds } from './ordered.ts'
import { referenceTargets } from './reference.ts'
import { beginsWith } from './string.ts'
import { caselessToken, hashToken, readToken } from './token.ts'

/** The condition of one component, on the columns of `ix_comp` that hold it. `at`: index of the component. */
const componentLookup = async (
  context: ValueContext,
  kind: IndexKind,
  text: string,
  at: number,
): Promise<{ where: Fragment; test: (row: readonly unknown[], start: number) => boolean }> => {
  const { name, hasher, now } = context
  const [value, system, place] = at === 0 ? ['x.val', 'x.sys', 1] : ['x.val2', 'x.sys2', 5]
  if (kind === 'date' || kind === 'quantity') return componentBounds(name, hasher, kind, text, now, at > 1)
  if (kind === 'token') {
    const asked = readToken(name, text)
    const token = hashToken(context, asked)
    const caseless = caselessToken(hasher, asked)
    const where: Fragment[] = []
    if (token.value !== undefined) where.push(q`${raw(value)} = ${token.value}`)
    if (token.system !== undefined) where.push(q`${raw(system)} = ${token.system}`)
    const other =
      caseless === undefined ? [] : [q`(${raw(value)} = ${caseless.value} AND ${isIn(system, caseless.systems)})`]
    return {
      where: or([and(where), ...other]),
      test: (row, start) =>
        ((token.value === undefined || row[start + place] === token.value) &&
          (token.system === undefined || row[start + place + 1] === token.system)) ||
        (caseless !== undefined &&
          row[start + place] === caseless.value &&
          caseless.systems.includes(row[start + place + 1] as number)),
    }
  }
  if (kind === 'reference') {
    const hashes = referenceTargets(context, unescapeValue(text), []).map(hasher.long)
    return { where: isIn(value, hashes), test: (row, start) => hashes.includes(row[start + place] as number) }
  }
  const wanted = kind === 'uri' ? unescapeValue(text) : normalize(unescapeValue(text))
  if (wanted === '') throw SearchEmpty(name)
  return {
    where: beginsWith(context.dialect, 'x.txt', 'x.tail', wanted),
    test: (row, start) => String(row[start + COMPOSITE.tail] ?? row[start + COMPOSITE.key]).startsWith(wanted),
  }
}

export const compositeLookups = async (
  context: ValueContext,
  kinds: readonly IndexKind[],
  values: readonly string[],
): Promise<IndexLookup[]> => {
  const codes = codesOf(context.columns)
  const lookups: IndexLookup[] = []
  for (const value of values) {
    const parts = splitEscaped(value, '$')
    if (parts.length !== kinds.length || parts.includes(''))
      throw SearchValue(context.name, `${kinds.length} values joined by $, such as code$value`)
    const conditions: Awaited<ReturnType<typeof componentLookup>>[] = []
    for (const [at, kind] of kinds.entries())
      conditions.push(await componentLookup(context, kind, parts[at] as string, at))
    lookups.push({
      table: 'ix_comp',
      where: or([and([isIn('x.param', codes), ...conditions.map(({ where }) => where)])]),
      isOrdered: false,
      probeable: true,
      matches: ({ composite }) =>
        someRow(
          composite,
          COMPOSITE_COLUMNS,
          (at) => codes.includes(composite[at] as number) && conditions.every(({ test }) => test(composite, at)),
        ),
    })
  }
  return lookups
}

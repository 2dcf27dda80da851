/**
 * Whether rows that a thread has extracted earlier are those that are extracted now. A posted or retired SearchParameter
 * replaces the source of all types, and changes the rows of its own types only.
 */
import { ABSTRACT_TYPES } from '../definition/compile-parameter.ts'
import { columnKeyOf } from './columns.ts'
import type { ExtractionSource } from './extraction-source.ts'

/** What the rows of a type depend on: its columns, with their codes and bits, in their order. */
const columnsText = ({ model, held }: ExtractionSource, type: string): string => {
  const isOfType = (one: { readonly type: string }): boolean => one.type === type || ABSTRACT_TYPES.has(one.type)
  const rows = new Map(held.filter(isOfType).map((row) => [columnKeyOf(row), row]))
  const columns = model.columns.filter(isOfType)
  return JSON.stringify(
    columns.map((column) => {
      const row = rows.get(columnKeyOf(column))
      return [columnKeyOf(column), row?.code, row?.bit, column]
    }),
  )
}

/** Remembers one type for one earlier source, because the parts of a change ask several times. */
export const createSameRows = () => {
  const known = new WeakMap<ExtractionSource, WeakMap<ExtractionSource, Map<string, boolean>>>()
  const compare = (earlier: ExtractionSource, now: ExtractionSource, type: string): boolean => {
    const byNow = known.get(earlier) ?? new WeakMap<ExtractionSource, Map<string, boolean>>()
    known.set(earlier, byNow)
    const byType = byNow.get(now) ?? new Map<string, boolean>()
    byNow.set(now, byType)
    const found = byType.get(type) ?? columnsText(earlier, type) === columnsText(now, type)
    byType.set(type, found)
    return found
  }
  return (earlier: ExtractionSource, now: ExtractionSource, types: readonly string[]): boolean =>
    earlier === now || types.every((type) => compare(earlier, now, type))
}

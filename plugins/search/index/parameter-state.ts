/**
 * The search parameters with their columns, computed from the definitions and one reading of the column table. A
 * change of either makes a new state.
 */

import { CANONICAL, COLUMN_STEP, UNLISTED } from '../definition/column-codes.ts'
import type { Parameter, ParameterColumn } from '../definition/parameter.ts'
import type { SearchDefinitions, StoredColumn } from '../definition/stored-definitions.ts'
import { COMMON_PARAMETERS, MODIFIERS } from '../definition/supported.ts'
import { type ColumnRow, columnKeyOf } from './columns.ts'
import type { Extract } from './extractor.ts'
import { refuseIndexing } from './indexing-refusal.ts'
import { GONE } from './tables.ts'

export interface NumberedColumn {
  readonly column: StoredColumn
  readonly row: ColumnRow
}

/**
 * The value sets that the codes of a column are bound to; they imply the system of codes that are stored without one.
 * Undefined when some values are not codes.
 */
const impliedBy = ({ kind, branches }: StoredColumn): readonly string[] | undefined => {
  if (kind !== 'token' || branches.length === 0) return undefined
  if (branches.every(({ type }) => type === 'boolean')) return ['boolean']
  const bindings = branches.map(({ type, binding }) => (type === 'code' ? binding : undefined))
  return bindings.every((one) => one !== undefined) ? [...new Set(bindings)] : undefined
}

const CANONICALS = new Set(['canonical', 'uri', 'url'])
const isCanonical = ({ kind, branches }: StoredColumn): boolean =>
  kind === 'reference' && branches.some(({ type }) => CANONICALS.has(type))

/** True when a column may hold References. An extension may, and so may the values that fhirpath.js selects. */
const holdsReferences = ({ branches, exotic }: StoredColumn): boolean =>
  exotic === true || branches.some(({ type }) => type === 'Reference' || type === 'Extension')

/** Words in the names of search parameters that are not codes of parameters: modifiers and keywords. */
const KNOWN_WORDS: readonly string[] = [
  ...COMMON_PARAMETERS,
  ...Object.values(MODIFIERS).flat(),
  'iterate',
  '_filter',
  'recurse',
  '_contained',
  '_containedType',
]

/** Makes the state from the definitions and one reading of the column table. */
export const createParameterState = (
  model: SearchDefinitions,
  held: readonly ColumnRow[],
  packaged: ReadonlySet<string>,
  posted: ReadonlySet<string>,
) => {
  const rows = new Map(held.map((row) => [columnKeyOf(row), row]))
  const numbered = model.columns.map(
    (column): NumberedColumn => ({ column, row: rows.get(columnKeyOf(column)) as ColumnRow }),
  )
  const byType = Map.groupBy(numbered, ({ column }) => column.type)
  // Bits by column code / COLUMN_STEP. Codes are multiples of COLUMN_STEP, so the list is short.
  const bitOf: number[] = []
  for (const { row } of numbered) bitOf[row.code / COLUMN_STEP] = row.bit
  const restOf = new Map<string, number>()
  const canonicals = new Set<number>()
  // Columns of posted SearchParameters do not count as holding references, because they may be deleted: the column of
  // unlisted references holds theirs as well.
  const uncounted = new Set<number>()
  for (const { column, row } of numbered)
    if (column.expression === UNLISTED) restOf.set(column.type, row.code)
    else if (column.kind === 'reference') {
      if (!packaged.has(columnKeyOf(column))) uncounted.add(row.code)
      if (!holdsReferences(column)) canonicals.add(row.code)
    }
  for (const row of held) if (row.reach === GONE) uncounted.add(row.code)
  const withoutReferences = new Set([...canonicals, ...uncounted])
  const pending = numbered.map(({ row }) => row).filter(({ ready }) => ready === 0)
  const parametersOf = new Map<string, Map<string, Parameter>>()
  const unsettled = new Set<string>()
  const words = new Set<string>(KNOWN_WORDS)
  for (const { base, columns, ...parameter } of model.parameters) {
    const list = parametersOf.get(base) ?? new Map<string, Parameter>()
    const behind: ColumnRow[] = []
    const used = columns.map(({ column, refers, present }): ParameterColumn => {
      const { row, column: stored } = numbered[column] as NumberedColumn
      const implied = impliedBy(stored)
      const alias = present === undefined ? row : (numbered[present] as NumberedColumn).row
      const unready = [row, alias].filter(({ ready }) => ready === 0)
      behind.push(...unready)
      return {
        code: row.code,
        bit: alias.bit,
        presence: alias.code,
        ...(refers === undefined ? {} : { refers }),
        ...(implied === undefined ? {} : { implied }),
        ...(isCanonical(stored) ? { canonical: true } : {}),
        ready: unready.length === 0,
      }
    })
    const [last] = behind.sort((one, other) => one.indexed - other.indexed)
    if (last !== undefined || posted.has(parameter.url)) unsettled.add(parameter.code)
    words.add(parameter.code).add(base)
    list.set(parameter.code, {
      ...parameter,
      columns: used,
      indexing: last,
    })
    parametersOf.set(base, list)
  }
  const codes = numbered.map(({ row }) => row.code)
  const codeAt = (place: number): number => numbered[place]?.row.code ?? 0
  const pairs = model.pairs
    .filter(({ column }) => numbered[column]?.row.ready === 1)
    .map(({ column, reference, token }) => ({
      column: codeAt(column),
      reference: codeAt(reference),
      token: codeAt(token),
    }))
  return {
    model,
    codes,
    /** True when the other state has the same definitions and column codes, so that it extracts the same rows. */
    hasCodesOf: (other: { readonly model: SearchDefinitions; readonly codes: readonly number[] }): boolean =>
      other.model === model && other.codes.every((code, at) => code === codes[at]),
    parametersOf,
    byType,
    bitOf,
    extractors: new Map<string, Extract>(),
    packagedCodes: new Set(
      numbered.filter(({ column }) => packaged.has(columnKeyOf(column))).map(({ row }) => row.code),
    ),
    pending,
    restOf,
    rests: new Set(restOf.values()),
    holdsReference(code: number): boolean {
      const beside = code % COLUMN_STEP
      return code > 0 && beside !== CANONICAL && !withoutReferences.has(code - beside)
    },
    /**
     * Columns that do not count when the referrers of a resource are looked for. Throws 503 while a reference column
     * of the packages is incomplete, because referrers would be missed.
     */
    canonicalColumns(): readonly number[] {
      const row = pending.find((one) => one.kind === 'reference' && packaged.has(columnKeyOf(one)))
      if (row !== undefined) throw refuseIndexing('references', row)
      return [...withoutReferences]
    },
    /** The complete column that combines a reference column with a token column. Undefined when there is none. */
    pairOf: (reference: number, token: number): number | undefined =>
      pairs.find((one) => one.reference === reference && one.token === token)?.column,
    gone: held.filter(({ reach }) => reach === GONE),
    /** The column with the canonical names of a type's resources. Throws 503 while it is incomplete. */
    canonicalColumn(type: string): number | undefined {
      const place = model.canonicals[type]
      const row = place === undefined ? undefined : numbered[place]?.row
      if (row?.ready === 0) throw refuseIndexing(`${type}.url`, row)
      return row?.code
    },
    /** The columns of all parameters, of those of a type, or of those with a code. */
    columnsOf(wanted: { readonly type?: string | undefined; readonly code?: string | undefined }): ColumnRow[] {
      if (wanted.code === undefined)
        return numbered.map(({ row }) => row).filter(({ type }) => (wanted.type ?? type) === type)
      const places = model.parameters
        .filter(({ base, code }) => (wanted.type ?? base) === base && wanted.code === code)
        .flatMap(({ columns }) =>
          columns.flatMap(({ column, present }) => (present === undefined ? [column] : [column, present])),
        )
      const asked = new Set(places)
      const paired = model.pairs.filter(({ reference, token }) => asked.has(reference) || asked.has(token))
      return [...asked, ...paired.map(({ column }) => column)].map((at) => (numbered[at] as NumberedColumn).row)
    },
    isPlain: (word: string): boolean => words.has(word) && !unsettled.has(word),
  }
}

export type ParameterState = ReturnType<typeof createParameterState>

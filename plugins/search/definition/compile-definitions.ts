/**
 * Compiles SearchParameters into index columns and parameters. Equal expressions share one column: `combo-code` uses
 * the columns of `code` and `component-code`, and `patient` uses that of `subject` with a filter on Patient. So they
 * add no index rows. https://hl7.org/fhir/R4/searchparameter.html
 */

import { type ContextType, createMembers } from '../../model/service.ts'
import { UNLISTED } from './column-codes.ts'
import { ABSTRACT_TYPES, createParameterCompiler } from './compile-parameter.ts'
import { OWN_CANONICAL } from './kind.ts'
import { addPatientCodeColumns } from './patient-code-columns.ts'
import type {
  DefinitionInput,
  PatientCodeColumn,
  SearchDefinitions,
  StoredColumn,
  StoredParameter,
} from './stored-definitions.ts'

/**
 * Drops the columns that no parameter uses and renumbers the rest. Columns with canonical names stay, and those for
 * which `keeps` returns true.
 */
export const internColumns = (
  columns: readonly StoredColumn[],
  parameters: readonly StoredParameter[],
  canonicals: SearchDefinitions['canonicals'],
  pairs: readonly PatientCodeColumn[],
  keeps: (column: StoredColumn) => boolean = () => false,
): Pick<SearchDefinitions, 'columns' | 'parameters' | 'canonicals' | 'pairs'> => {
  const asked = new Set(
    parameters.flatMap((one) =>
      one.columns.flatMap(({ column, present }) => (present === undefined ? [column] : [column, present])),
    ),
  )
  // A combined column is dropped unless a parameter uses its reference and another one its token.
  const both = pairs.filter(({ reference, token }) => asked.has(reference) && asked.has(token))
  const used = new Set([...Object.values(canonicals), ...asked, ...both.map(({ column }) => column)])
  const kept = columns.map((column, at) => ({ column, at })).filter(({ column, at }) => used.has(at) || keeps(column))
  const moved = new Map(kept.map(({ at }, now) => [at, now]))
  const move = (at: number): number => moved.get(at) ?? 0
  return {
    columns: kept.map(({ column }) => column),
    parameters: parameters.map((one) => ({
      ...one,
      columns: one.columns.map((entry) => ({
        ...entry,
        column: move(entry.column),
        ...(entry.present === undefined ? {} : { present: move(entry.present) }),
      })),
    })),
    canonicals: Object.fromEntries(Object.entries(canonicals).map(([type, at]) => [type, move(at)])),
    pairs: both.map(({ column, reference, token }) => ({
      column: move(column),
      reference: move(reference),
      token: move(token),
    })),
  }
}

export const compileSearchDefinitions = ({
  structures,
  parameters,
  compartments,
  types,
}: DefinitionInput): SearchDefinitions => {
  const byUrl = new Map(parameters.map((one) => [one.url, one]))
  const shapes = createMembers(structures)
  const { columns, place, compileFor } = createParameterCompiler({
    shapes,
    typeOf: (url) => byUrl.get(url)?.type,
  })
  // Where two parameters have the same code, the one of the later package wins; an experimental one never replaces
  // another.
  const chosen = new Map<string, StoredParameter>()
  const known = new Set(types)
  const ordered = [
    ...parameters.filter(({ experimental }) => experimental === true),
    ...parameters.filter(({ experimental }) => experimental !== true),
  ]
  for (const parameter of ordered)
    for (const base of parameter.base ?? [])
      for (const type of ABSTRACT_TYPES.has(base) ? types : known.has(base) ? [base] : []) {
        const compiled = compileFor(type, parameter)
        if (compiled !== undefined) chosen.set(`${type} ${parameter.code}`, compiled)
      }
  // Columns that resolve canonicals: for types whose resources have a `url` element.
  const canonicals = new Map<string, number>()
  for (const type of types)
    if (shapes.children(type, 'url').some(({ context, many }) => context === 'uri' && !many))
      canonicals.set(
        type,
        place({
          type,
          kind: 'reference',
          expression: `${type}.url | version`,
          branches: [{ steps: [], type: OWN_CANONICAL }],
        }),
      )
  /** Columns that are filled without an expression: with references that no other column holds. */
  const rest = types.map((type): StoredColumn => ({ type, kind: 'reference', expression: UNLISTED, branches: [] }))
  // A later definition may have replaced the only parameter that used a column: such columns are dropped.
  const pairs = addPatientCodeColumns([...chosen.values()], columns, place)
  const packed = internColumns(columns, [...chosen.values()], Object.fromEntries(canonicals), pairs)
  return {
    ...packed,
    columns: [...packed.columns, ...rest],
    compartments: Object.fromEntries(
      compartments
        .filter(({ code }) => known.has(code))
        .map(({ code, resource = [] }) => [
          code,
          Object.fromEntries(
            resource.filter(({ param = [] }) => param.length > 0).map((one) => [one.code, one.param ?? []]),
          ),
        ]),
    ),
  }
}

export type { ContextType }

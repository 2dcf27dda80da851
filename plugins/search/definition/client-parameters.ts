/**
 * Adds the SearchParameters that clients posted to those of the packages. An active one with the URL of a package's
 * parameter replaces it, a retired one disables it; drafts are stored and have no effect.
 * https://hl7.org/fhir/R4/searchparameter.html
 */

import type { Members } from '../../model/service.ts'
import { internColumns } from './compile-definitions.ts'
import { ABSTRACT_TYPES, createParameterCompiler } from './compile-parameter.ts'
import type {
  ParameterType,
  SearchDefinitions,
  SearchParameterResource,
  StoredColumn,
  StoredParameter,
} from './stored-definitions.ts'

/** Statuses that have an effect on searches. */
export const ACTIVE = ['active', 'retired'] as const

/** A row of `search_parameter`. */
export interface ClientParameterRow {
  readonly rid: number
  readonly id: string
  readonly url: string
  readonly status: (typeof ACTIVE)[number]
  /** The definition as JSON. */
  readonly body: string
}

/** A compiled SearchParameter: its parameters, one for each base, and the columns that they refer to by index. */
export interface CompiledParameter {
  readonly definition: SearchParameterResource
  readonly columns: readonly StoredColumn[]
  readonly parameters: readonly StoredParameter[]
  /** Resource types that the parameter applies to. */
  readonly bases: readonly string[]
}

export interface ClientParameterCompiler {
  /** Compiles a definition. `siblings`: the other posted definitions, which the components of a composite may name. */
  compile(definition: SearchParameterResource, siblings: readonly SearchParameterResource[]): CompiledParameter
  /** Returns the definitions of the packages together with the posted ones. */
  merge(rows: readonly ClientParameterRow[]): SearchDefinitions
}

/** Picks the elements of a SearchParameter that searches need. */
export const toDefinition = (resource: Readonly<Record<string, unknown>>): SearchParameterResource => {
  const { url, code, type, base, expression, target, component } = resource as unknown as SearchParameterResource
  return {
    url,
    code,
    type,
    ...(base === undefined ? {} : { base }),
    ...(expression === undefined ? {} : { expression }),
    ...(target === undefined ? {} : { target }),
    ...(component === undefined ? {} : { component }),
  }
}

export const definitionOf = ({ body }: ClientParameterRow): SearchParameterResource =>
  JSON.parse(body) as SearchParameterResource

const columnKey = ({ type, kind, expression }: StoredColumn): string => `${type} ${kind} ${expression}`

export const createClientParameterCompiler = (
  packages: SearchDefinitions,
  shapes: Members,
  types: ReadonlySet<string>,
): ClientParameterCompiler => {
  const typeByUrl = new Map<string, ParameterType>(packages.parameters.map(({ url, type }) => [url, type]))
  let known = new Map<string, CompiledParameter>()

  const basesOf = ({ base = [] }: SearchParameterResource): readonly string[] => [
    ...new Set(base.flatMap((one) => (ABSTRACT_TYPES.has(one) ? [...types] : types.has(one) ? [one] : []))),
  ]
  const compileNow = (
    definition: SearchParameterResource,
    siblings: readonly SearchParameterResource[],
  ): CompiledParameter => {
    const typeOf = (url: string): ParameterType | undefined =>
      siblings.find((one) => one.url === url)?.type ?? typeByUrl.get(url)
    const { columns, compileFor } = createParameterCompiler({ shapes, typeOf })
    const bases = basesOf(definition)
    const parameters = bases.map((base) => compileFor(base, definition)).filter((one) => one !== undefined)
    return { definition, columns, parameters, bases }
  }

  const compile: ClientParameterCompiler['compile'] = (definition, siblings) => {
    // The kind of a component depends on the definition that it names, so that definition's type is part of the cache
    // key.
    const components = (definition.component ?? []).map(
      (one) => siblings.find(({ url }) => url === one.definition)?.type,
    )
    const key = `${JSON.stringify(definition)} ${components.join(' ')}`
    const found = known.get(key)
    if (found !== undefined) return found
    const made = compileNow(definition, siblings)
    known.set(key, made)
    return made
  }

  return {
    compile,
    merge(rows) {
      const displaced = new Set(rows.map(({ url }) => url))
      const definitions = rows.filter(({ status }) => status === 'active').map(definitionOf)
      const compiled = definitions.map((one) => compile(one, definitions))
      // Drops definitions from the cache that are no longer posted.
      known = new Map([...known].filter(([, one]) => compiled.includes(one)))
      const columns: StoredColumn[] = [...packages.columns]
      // The reference columns of the packages stay, even when their parameters are disabled: they are needed to find
      // what refers to a resource.
      const kept = new Set(columns.filter(({ kind }) => kind === 'reference'))
      const isKept = (column: StoredColumn): boolean => kept.has(column)
      const places = new Map(columns.map((column, at) => [columnKey(column), at]))
      const place = (column: StoredColumn): number => {
        const key = columnKey(column)
        const at = places.get(key) ?? columns.push(column) - 1
        places.set(key, at)
        return at
      }
      const parameters = packages.parameters.filter(({ url }) => !displaced.has(url))
      for (const one of compiled) {
        const moved = one.columns.map(place)
        for (const parameter of one.parameters)
          parameters.push({
            ...parameter,
            columns: parameter.columns.map((entry) => ({
              ...entry,
              column: moved[entry.column] as number,
              ...(entry.present === undefined ? {} : { present: moved[entry.present] as number }),
            })),
          })
      }
      return {
        ...internColumns(columns, parameters, packages.canonicals, packages.pairs, isKept),
        compartments: packages.compartments,
      }
    },
  }
}

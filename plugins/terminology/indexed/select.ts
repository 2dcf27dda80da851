/** The concepts that meet a filter of a value set, by statements: the counterpart of `toTest` in `filter.ts`. */
import { createPause } from '../../../kernel/index.ts'
import type { Database, Sql, SqlParam } from '../../database/service.ts'
import type { ConceptFacts, SystemHeader } from '../code-system.ts'
import {
  HIERARCHICAL,
  OF_CODES,
  refuseHierarchy,
  safePattern,
  UnsupportedFilter,
  type ValueSetFilter,
} from '../filter.ts'
import { PlaceSet } from '../place-set.ts'
import { headOf } from './index-rows.ts'
import { PROPERTY_VALUES, selectAbove, selectBelow, selectByProperty, VALUES } from './statements.ts'

const PAGE = 2000 // concepts whose values a pattern is tried on at once

export interface SelectParts {
  readonly database: Pick<Database, 'longQuery'>
  readonly id: number
  readonly size: number
  readonly header: SystemHeader
  findAll(codes: readonly string[]): Promise<ReadonlyMap<string, ConceptFacts>>
  /** The places that a statement lists. */
  places(statement: Sql, params: readonly SqlParam[]): Promise<PlaceSet>
}

export const createSelect = ({ database, id, size, header, findAll, places }: SelectParts) => {
  const hierarchical = async (filter: ValueSetFilter): Promise<PlaceSet> => {
    refuseHierarchy(header, filter)
    const { op, value } = filter
    const start = (await findAll([value])).get(value)
    if (start === undefined) throw new UnsupportedFilter(`${value} is not in ${header.url}`)
    const found = await places(op === 'generalizes' ? selectAbove : selectBelow, [start.place, id])
    if (op === 'is-not-a') return PlaceSet.all(size).remove(found)
    if (op === 'descendent-of') found.delete(start.place)
    return found
  }
  /** The concepts that have one of the values. */
  const among = async (property: string, given: readonly string[]): Promise<PlaceSet> => {
    if (property === 'code' || property === 'concept') {
      const found = await findAll(given)
      const exact = [...found].filter(([asked, { code }]) => !header.isCaseSensitive || asked === code)
      return PlaceSet.of(
        size,
        exact.map(([, { place }]) => place),
      )
    }
    // Where the system is not case-sensitive, codes are replaced by those that the system has.
    const known = OF_CODES.has(property) && !header.isCaseSensitive ? await findAll(given) : undefined
    const values = given.map((one) => known?.get(one)?.code ?? one)
    const statements = VALUES[property]
    if (statements !== undefined) return places(statements.among, [id, JSON.stringify(values)])
    const heads = JSON.stringify(values.map(headOf))
    return places(selectByProperty, [heads, id, property, JSON.stringify(values)])
  }
  /** Patterns are JavaScript's, which no database has: the values are tried here, in parts. */
  const fitting = async (property: string, pattern: RegExp): Promise<PlaceSet> => {
    const { page, isNamed } = VALUES[property] ?? PROPERTY_VALUES
    const found = PlaceSet.none(size)
    const pause = createPause()
    for (let from = 0; from < size; from += PAGE) {
      const rows = await database.longQuery<{ place: number; value: string }>(page, [
        ...(isNamed ? [id, property] : [id]),
        ...[from, from + PAGE],
      ])
      for (const { place, value } of rows) if (pattern.test(value)) found.add(place)
      await pause()
    }
    return found
  }

  /** Throws UnsupportedFilter. */
  return async (filter: ValueSetFilter): Promise<PlaceSet> => {
    const { property, op, value } = filter
    if (HIERARCHICAL.has(op)) return hierarchical(filter)
    const { exists, isNamed } = VALUES[property] ?? PROPERTY_VALUES
    const all = (): PlaceSet => PlaceSet.all(size)
    switch (op) {
      case '=':
        return among(property, [value])
      case 'in':
      case 'not-in': {
        const wanted = value.split(',').map((one) => one.trim())
        const found = await among(property, wanted)
        return op === 'in' ? found : all().remove(found)
      }
      case 'regex':
        return fitting(property, safePattern(value))
      case 'exists': {
        const found = await places(exists, isNamed ? [id, property] : [id])
        return value === 'true' ? found : all().remove(found)
      }
      default:
        throw new UnsupportedFilter(`the filter operator ${op}`)
    }
  }
}

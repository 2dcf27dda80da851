/** The parameters of the statement of a shape. */
import type { OwnUrl } from '../../../kernel/index.ts'
import type { SqlParam } from '../../database/service.ts'
import type { CompiledClause } from './compiled-clause.ts'
import type { CompiledStatement } from './compiled-statement.ts'
import type { Shape } from './shapes.ts'

/** The parameters of each clause. Undefined for a value that only the general search handles. */
export const bindAll = (
  { clauses }: Shape,
  values: readonly string[],
  ownUrl: OwnUrl | undefined,
): readonly (readonly SqlParam[])[] | undefined => {
  const bound: (readonly SqlParam[])[] = []
  for (const clause of clauses) {
    const params = clause.bind(values, ownUrl)
    if (params === undefined) return undefined
    bound.push(params)
  }
  return bound
}

/** Puts the parameters of the clauses into the order of the statement. `limit`: most rows of a statement that sorts. */
export const paramsOf = (
  clauses: readonly CompiledClause[],
  { driver, checked, isCollected, notesAbsolute, notesMore }: CompiledStatement,
  bound: readonly (readonly SqlParam[])[],
  limit: number,
): SqlParam[] => {
  const first = bound[driver] as readonly SqlParam[]
  const { finds } = clauses[driver] as CompiledClause
  const params = first.slice(0, finds)
  for (const at of checked) params.push(...(bound[at] as readonly SqlParam[]))
  if (!isCollected) params.push(limit)
  if (notesAbsolute) for (let at = finds; at < first.length; at += 1) params.push(first[at] as SqlParam)
  if (notesMore) for (let at = 0; at < finds; at += 1) params.push(first[at] as SqlParam)
  return params
}

/** The compiled shapes of searches: a type with the names of its parameters. Each is compiled at its first use. */
import type { Registry } from '../index/registry.ts'
import type { StatementCache } from '../sql/statements.ts'
import { type CompiledClause, compileClause, compilePatientCodeClause } from './compiled-clause.ts'
import { type CompiledStatement, toStatement } from './compiled-statement.ts'

const MAX_SHAPES = 1_000
/** The credit that a shape has at first, and at most. */
export const MAX_CREDIT = 64

export interface Shape {
  readonly clauses: readonly CompiledClause[]
  readonly statement: CompiledStatement
  /** Below zero the shape failed too often and is no longer tried. */
  credit: number
}

/** `names`: the names of the parameters, each followed by `&`. Null for a shape that only the general search handles. */
export type ShapeOf = (type: string, names: string) => Shape | null

export const createShapes = (registry: Registry, statements: StatementCache, isPostgres: boolean): ShapeOf => {
  let shapes = new Map<string, Shape | null>()
  let state = registry.state

  /** Replaces a reference clause and a token clause by one where a column combines both. */
  const pair = (clauses: readonly CompiledClause[]): readonly CompiledClause[] => {
    for (const one of clauses)
      for (const other of clauses) {
        const [reference, token] = [one.columns[0], other.columns[0]]
        if (one.table !== 'ix_ref' || other.table !== 'ix_token' || other.columns.length > 1) continue
        const column = registry.state.pairOf(reference as number, token as number)
        if (column === undefined) continue
        return [
          compilePatientCodeClause(column, one, other),
          ...clauses.filter((each) => each !== one && each !== other),
        ]
      }
    return clauses
  }

  const compile = (type: string, names: string): Shape | null => {
    const known = registry.parameters(type)
    const clauses: CompiledClause[] = []
    for (const [at, name] of names.slice(0, -1).split('&').entries()) {
      const parameter = known.get(name)
      // Another server may have changed the meaning of a name.
      if (parameter === undefined || (isPostgres && !registry.isPlain(name))) return null
      const clause = compileClause(parameter, at, registry.hasher)
      if (clause === undefined) return null
      clauses.push(clause)
    }
    const paired = pair(clauses)
    const statement = toStatement(statements, paired, isPostgres ? 'postgres' : 'sqlite')
    return { clauses: paired, statement, credit: MAX_CREDIT }
  }

  return (type, names) => {
    if (state !== registry.state || shapes.size >= MAX_SHAPES) {
      shapes = new Map()
      state = registry.state
    }
    const key = `${type}?${names}`
    const found = shapes.get(key)
    if (found !== undefined) return found
    const shape = compile(type, names)
    shapes.set(key, shape)
    return shape
  }
}

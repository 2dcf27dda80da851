/** The statements that find what `_include` and `_revinclude` add. */
import type { OwnUrl } from '../../../kernel/index.ts'
import type { TypeCodes } from '../../storage/service.ts'
import type { ParameterColumn } from '../definition/parameter.ts'
import { SearchChain } from '../errors.ts'
import type { Registry } from '../index/registry.ts'
import type { Criteria } from '../query/criteria.ts'
import type { JoinTargets, ReferenceJoins } from '../query/reference-join.ts'
import type { Include } from '../query/search-parameters.ts'
import { type Fragment, isIn, q, raw } from '../sql/fragment.ts'

/** Most included resources on a page. A warning in the Bundle says when there were more. */
export const MAX_INCLUDED = 1_000
/** Most rows of one statement of a `_revinclude`. */
export const MAX_FOUND = MAX_INCLUDED * 2

export interface IncludedKey {
  readonly rid: number
  readonly type: string
}

export interface IncludeStatementsParts {
  readonly registry: Registry
  readonly criteria: Criteria
  readonly types: TypeCodes
  readonly referenceJoins: ReferenceJoins
}

export const createIncludeStatements = ({
  registry,
  criteria,
  types,
  referenceJoins: linksOf,
}: IncludeStatementsParts) => {
  const codeOf = (type: string): number => types.code(type) ?? 0

  /** The reference columns that an include names on one type. Throws 400 when its parameter is not a reference. */
  const columnsOf = ({ parameter, text }: Include, type: string): readonly ParameterColumn[] => {
    if (parameter !== '*') {
      const found = criteria.parameterOf(type, parameter)
      if (found.type !== 'reference') throw SearchChain(text.slice(0, 100), `"${parameter}" is no reference`)
      return found.columns
    }
    return [...registry.parameters(type).values()]
      .filter((one) => one.type === 'reference')
      .flatMap((one) => criteria.complete(one).columns)
  }

  /** The targets of a join: one type, or all. */
  const endsOf = (only: string | undefined, all: readonly string[]): JoinTargets => ({
    types: only === undefined ? undefined : [codeOf(only)],
    canonicals: (only === undefined ? all : [only]).flatMap((type) => registry.canonicalColumn(type) ?? []),
  })

  return {
    /** Throws 400 for an include of an unknown type, or by a parameter that is not a reference. */
    check(include: Include, known: (type: string) => boolean): void {
      if (include.source === '*') return
      if (!known(include.source))
        throw SearchChain(include.text.slice(0, 100), `"${include.source.slice(0, 64)}" is no resource type`)
      if (include.target !== undefined && !known(include.target))
        throw SearchChain(include.text.slice(0, 100), `"${include.target.slice(0, 64)}" is no resource type`)
      columnsOf(include, include.source)
    },
    async forward(include: Include, from: readonly IncludedKey[], all: readonly string[], ownUrl: OwnUrl | undefined) {
      const { source, target } = include
      const statements: Fragment[] = []
      for (const [type, list] of Map.groupBy(from, (held) => held.type)) {
        if (source !== '*' && source !== type) continue
        const rids = isIn(
          'r.rid',
          list.map(({ rid }) => rid),
        )
        for (const [only, columns] of Map.groupBy(columnsOf(include, type), ({ refers }) => refers ?? target)) {
          if (target !== undefined && only !== target) continue
          for (const link of await linksOf(columns, endsOf(only, all), ownUrl))
            statements.push(
              q`SELECT DISTINCT s.rid AS rid, s.type AS type FROM ix_ref r CROSS JOIN ${raw(link.table)} t CROSS JOIN resource s WHERE ${rids} AND ${link.reference('r')} AND ${link.toTarget('r', 't')} AND ${link.target('t')} AND s.rid = t.rid`,
            )
        }
      }
      return statements
    },
    /** `where`: a condition on the referring resources, alias `s`. */
    async backward(
      include: Include,
      from: readonly IncludedKey[],
      all: readonly string[],
      ownUrl: OwnUrl | undefined,
      where: Fragment = raw('1 = 1'),
      order: Fragment = raw(''),
    ) {
      const { source, target } = include
      const statements: Fragment[] = []
      for (const [type, list] of Map.groupBy(from, (held) => held.type)) {
        if (target !== undefined && target !== type) continue
        const columns = (source === '*' ? all : [source])
          .flatMap((one) => columnsOf(include, one))
          .filter(({ refers }) => refers === undefined || refers === type)
        const rids = isIn(
          't.rid',
          list.map(({ rid }) => rid),
        )
        for (const link of await linksOf(columns, endsOf(type, all), ownUrl))
          statements.push(
            q`SELECT DISTINCT s.rid AS rid, s.type AS type FROM ${raw(link.table)} t CROSS JOIN ix_ref r CROSS JOIN resource s WHERE ${link.target('t')} AND ${rids} AND ${link.reference('r')} AND ${link.toReference('r', 't')} AND s.rid = r.rid AND ${where}${order} LIMIT ${MAX_FOUND}`,
          )
      }
      return statements
    },
  }
}

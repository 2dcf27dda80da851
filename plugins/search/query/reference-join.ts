/**
 * Joins that follow references in the index: by `Type/id`, by a URL under this server's own URL, or by a canonical.
 * https://hl7.org/fhir/R4/references.html
 */
import type { OwnUrl } from '../../../kernel/index.ts'
import type { RowSource } from '../../storage/service.ts'
import { ABSOLUTE, CANONICAL } from '../definition/column-codes.ts'
import type { ParameterColumn } from '../definition/parameter.ts'
import type { Registry } from '../index/registry.ts'
import { type Fragment, isIn, q, raw } from '../sql/fragment.ts'
import type { StatementCache } from '../sql/statements.ts'

/** One way to follow the references of some columns. `r`: alias of their rows. `t`: alias of rows of the targets. */
export interface ReferenceJoin {
  /** Table of `t`. */
  readonly table: 'ix_res' | 'ix_ref'
  /** Condition for the rows of the references. */
  readonly reference: (r: string) => Fragment
  /** Condition for rows of any possible target. */
  readonly target: (t: string) => Fragment
  /** Conditions that join the two: `toTarget` seeks by a key of `t`, `toReference` by a key of `r`. */
  readonly toTarget: (r: string, t: string) => Fragment
  readonly toReference: (r: string, t: string) => Fragment
}

/**
 * `types`: codes of the target types, undefined for any. `canonicals`: codes of the columns with their canonical
 * names.
 */
export interface JoinTargets {
  readonly types: readonly number[] | undefined
  readonly canonicals: readonly number[]
}

const codesOf = (columns: readonly ParameterColumn[], beside: number): readonly number[] => [
  ...new Set(columns.map(({ code }) => code + beside)),
]

const literal = (params: readonly number[], { types }: JoinTargets, base: number): ReferenceJoin => {
  const shift = base === 0 ? raw('') : q` + ${base}`
  const back = base === 0 ? raw('') : q` - ${base}`
  return {
    table: 'ix_res',
    reference: (r) => isIn(`${r}.param`, params),
    target: (t) => (types === undefined ? raw('1 = 1') : isIn(`${t}.type`, types)),
    toTarget: (r, t) => q`${raw(`${t}.ref`)} = ${raw(`${r}.target`)}${back}`,
    toReference: (r, t) => q`${raw(`${r}.target`)} = ${raw(`${t}.ref`)}${shift}`,
  }
}

const canonical = (params: readonly number[], { canonicals }: JoinTargets): ReferenceJoin => {
  const same = (r: string, t: string): Fragment => raw(`${t}.target = ${r}.target`)
  return {
    table: 'ix_ref',
    reference: (r) => isIn(`${r}.param`, params),
    target: (t) => isIn(`${t}.param`, canonicals),
    toTarget: same,
    toReference: same,
  }
}

export const createReferenceJoins = (
  source: RowSource,
  statements: StatementCache,
  { hasher }: Pick<Registry, 'hasher'>,
) => {
  const inUse = async (params: readonly number[]): Promise<boolean> => {
    const { text, params: values } = q`SELECT 1 AS one FROM ix_ref x WHERE ${isIn('x.param', params)} LIMIT 1`
    return (await source.get(statements(text), values)) !== undefined
  }
  /**
   * Returns the joins that can find a target. Absolute references and canonicals are rare, so their joins are left
   * out where no row exists.
   */
  return async (
    columns: readonly ParameterColumn[],
    ends: JoinTargets,
    ownUrl: OwnUrl | undefined,
  ): Promise<readonly ReferenceJoin[]> => {
    if (columns.length === 0) return []
    const found = [literal(codesOf(columns, 0), ends, 0)]
    const absolute = codesOf(columns, ABSOLUTE)
    if (ownUrl !== undefined && (await inUse(absolute))) found.push(literal(absolute, ends, hasher.short(ownUrl)))
    const named = codesOf(
      columns.filter((one) => one.canonical === true),
      CANONICAL,
    )
    if (named.length > 0 && ends.canonicals.length > 0 && (await inUse(named))) found.push(canonical(named, ends))
    return found
  }
}

export type ReferenceJoins = ReturnType<typeof createReferenceJoins>

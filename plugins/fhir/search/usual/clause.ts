/**
 * One parameter without a modifier, compiled: its condition with the numbers of its columns in the text, and the
 * parameters that a value puts in. Says of a value exactly what the lookups say.
 */
import type { Param } from '../../../database/service.ts'
import { fold, KEY_CHARS } from '../fold.ts'
import type { Hasher } from '../hash.ts'
import { referenceTargets } from '../reference-lookups.ts'
import type { Parameter } from '../registry.ts'
import { hashToken, readToken } from '../token-lookups.ts'
import { LAST } from '../value-context.ts'

export interface Clause {
  readonly table: string
  /** Condition on rows `x`, for checking a resource that another clause found. Takes all parameters. */
  readonly check: string
  /** The same for finding; takes the first parameters. */
  readonly find: string
  /** What `find` leaves out and `check` has, next to never stored; takes the other parameters. */
  readonly strays?: string
  /** Of the parameters, how many `find` takes. */
  readonly finds: number
  /** Found in the order of rid. */
  readonly ordered: boolean
  /** A few rows of one patient or one thing, as against all resources with a code. */
  readonly selective: boolean
  /** Undefined for a value that takes a closer look. */
  bind(value: string, baseUrl: string): readonly Param[] | undefined
}

// Alternatives, escapes, and components have their own way.
const SPECIAL = /[,\\$]/

/** Numbers of our own making, and few: in the text they let the statement be planned once. */
const paramIs = (codes: readonly number[]): string =>
  codes.length === 1 ? `x.param = ${codes[0]}` : `x.param IN (${codes.join(', ')})`

const tokenClause = ({ code, columns }: Parameter, hasher: Hasher): Clause | undefined => {
  const [first] = columns
  // A code that carries no system is asked for without one, and one that may carry one with it.
  const isBare = first?.implied !== undefined
  if (first === undefined || columns.some(({ implied }) => (implied !== undefined) !== isBare)) return undefined
  const find = `${paramIs(columns.map((one) => one.code))} AND x.val = ? AND x.sys = ?`
  return {
    table: 'ix_token',
    check: find,
    find,
    finds: 2,
    ordered: columns.length === 1,
    selective: false,
    bind(value) {
      if (isBare && value.includes('|')) return undefined
      const token = readToken(code, value)
      const { value: hash, system = isBare ? 0 : undefined } = hashToken({ hasher }, token)
      return hash === undefined || system === undefined ? undefined : [hash, system]
    },
  }
}

const referenceClause = ({ code, columns, targets }: Parameter, hasher: Hasher): Clause | undefined => {
  const [column] = columns
  if (column === undefined || columns.length > 1) return undefined
  const { refers } = column
  const param = paramIs([column.code])
  const types = refers === undefined ? targets : [refers]
  return {
    table: 'ix_ref',
    check: `${param} AND x.target IN (?, ?)`,
    find: `${param} AND x.target = ?`,
    // Under our own address: seldom, as whoever writes here knows the relative one.
    strays: `${param} AND x.target = ?`,
    finds: 1,
    ordered: true,
    selective: true,
    bind(value, baseUrl) {
      const texts = referenceTargets({ name: code, baseUrl }, value, types, refers)
      return texts.length === 2 ? texts.map(hasher.long) : undefined
    },
  }
}

const stringClause = ({ columns }: Parameter): Clause => {
  const find = `${paramIs(columns.map((one) => one.code))} AND x.val >= ? AND x.val < ?`
  return {
    table: 'ix_str',
    check: find,
    find,
    finds: 2,
    ordered: false,
    selective: true,
    bind(value) {
      const text = fold(value)
      return text === '' || text.length > KEY_CHARS ? undefined : [text, text + LAST]
    },
  }
}

const clauseOf = (parameter: Parameter, hasher: Hasher): Clause | undefined => {
  if (parameter.columns.length === 0) return undefined
  if (parameter.type === 'token') return tokenClause(parameter, hasher)
  if (parameter.type === 'reference') return referenceClause(parameter, hasher)
  return parameter.type === 'string' ? stringClause(parameter) : undefined
}

/** Undefined for a parameter of another type. What is wrong with a value is told by whoever takes the closer look. */
export const compileClause = (parameter: Parameter, hasher: Hasher): Clause | undefined => {
  const clause = clauseOf(parameter, hasher)
  if (clause === undefined) return undefined
  return {
    ...clause,
    bind(value, baseUrl) {
      if (parameter.indexing !== undefined || SPECIAL.test(value)) return undefined
      try {
        return clause.bind(value, baseUrl)
      } catch {
        return undefined
      }
    },
  }
}

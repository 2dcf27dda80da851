/**
 * Compiles parameters without modifiers: SQL with column codes in its text, and the values as parameters. Matches
 * exactly what the lookups of query/ match.
 */
import type { OwnUrl } from '../../../kernel/index.ts'
import type { SqlParam } from '../../database/service.ts'
import { patientCodeKey } from '../definition/pair-key.ts'
import type { Parameter } from '../definition/parameter.ts'
import { counterKeyOf } from '../index/counter-keys.ts'
import type { Hasher } from '../index/hash.ts'
import { KEY_CHARS, normalize } from '../index/normalize.ts'
import { referenceTargets } from '../query/lookups/reference.ts'
import { hashToken, readToken } from '../query/lookups/token.ts'
import { LAST } from '../query/value-context.ts'

export interface CompiledClause {
  readonly table: string
  /** Codes of the columns that it reads. */
  readonly columns: readonly number[]
  /** Condition on rows `x` that checks a resource found by another clause. Takes all parameters. */
  readonly check: string
  /** Condition on rows `x` that finds resources. Takes the first `finds` parameters. */
  readonly find: string
  /**
   * Condition on the absolute references that `check` includes and `find` leaves out, because there are hardly any.
   * Takes the other parameters.
   */
  readonly absoluteReferences?: string
  /** The number of parameters that `find` takes. */
  readonly finds: number
  /** True when rows come in the order of their resource keys. */
  readonly isOrdered: boolean
  /** A rank by expected number of rows. A search starts from the clause with the lowest. */
  readonly breadth: number
  /** Counters (change-counters.ts) that cover everything the clause finds. `params`: the result of `bind`. */
  keys(params: readonly SqlParam[]): readonly number[]
  /**
   * Returns the parameters for this clause. `values`: those of all parameters of the search. Undefined for a value
   * that only the general search handles.
   */
  bind(values: readonly string[], ownUrl: OwnUrl | undefined): readonly SqlParam[] | undefined
}

type Made = Omit<CompiledClause, 'bind' | 'columns'> & {
  bindOne(value: string, ownUrl: OwnUrl | undefined): readonly number[] | readonly string[] | undefined
}

// Alternatives, escapes and composites are left to the general search.
const SPECIAL = /[,\\$]/

/** Ranks by what a clause matches: one patient or thing, one name, a code of a system, a code without a system. */
const BREADTH = { reference: 0, string: 1, token: 2, code: 3 } as const

/** Column codes are few and safe, and as literals they let the database plan the statement once. */
const paramIs = (codes: readonly number[]): string =>
  codes.length === 1 ? `x.param = ${codes[0]}` : `x.param IN (${codes.join(', ')})`

const MAX_TOKENS = 256
/**
 * Used instead of the absolute reference when the server has no URL of its own. No row has this target, because
 * hashes have 48 bits.
 */
const NO_TARGET = Number.MAX_SAFE_INTEGER

/** Few different codes are searched for, so their hashes are cached, up to MAX_TOKENS. */
const rememberTokens = (hash: (value: string) => readonly number[] | undefined): typeof hash => {
  const known = new Map<string, readonly number[]>()
  return (value) => {
    const found = known.get(value)
    if (found !== undefined) return found
    const made = hash(value)
    if (made === undefined) return undefined
    if (known.size >= MAX_TOKENS) known.clear()
    known.set(value, made)
    return made
  }
}

const tokenClause = ({ code, columns }: Parameter, hasher: Hasher): Made | undefined => {
  // Codes whose system is implied are searched for without one, others with one.
  const isBare = columns.every(({ implied }) => implied !== undefined)
  if (!isBare && columns.some(({ implied }) => implied !== undefined)) return undefined
  const find = `${paramIs(columns.map((one) => one.code))} AND x.val = ? AND x.sys = ?`
  return {
    table: 'ix_token',
    check: find,
    find,
    finds: 2,
    isOrdered: columns.length === 1,
    breadth: isBare ? BREADTH.code : BREADTH.token,
    keys: ([value, system]) => columns.map((one) => counterKeyOf(one.code, value as number, system as number)),
    bindOne: rememberTokens((value) => {
      if (isBare && value.includes('|')) return undefined
      const token = hashToken({ hasher }, readToken(code, value))
      const system = isBare ? 0 : token.system
      return token.value === undefined || system === undefined ? undefined : [token.value, system]
    }),
  }
}

const referenceClause = ({ code, columns, targets }: Parameter, hasher: Hasher): Made | undefined => {
  const [column] = columns
  if (column === undefined || columns.length > 1) return undefined
  const { refers } = column
  const param = paramIs([column.code])
  const types = refers === undefined ? targets : [refers]
  return {
    table: 'ix_ref',
    check: `${param} AND x.target IN (?, ?)`,
    find: `${param} AND x.target = ?`,
    // References with this server's own URL are rare, because clients mostly write relative ones.
    absoluteReferences: `${param} AND x.target = ?`,
    finds: 1,
    isOrdered: true,
    breadth: BREADTH.reference,
    keys: (texts) => texts.map((target) => counterKeyOf(column.code, target as number)),
    bindOne(value, ownUrl) {
      const texts = referenceTargets({ name: code, ownUrl }, value, types, refers)
      const targets = texts.map(hasher.long)
      if (ownUrl === undefined) return targets.length === 1 ? [...targets, NO_TARGET] : undefined
      return targets.length === 2 ? targets : undefined
    },
  }
}

const stringClause = ({ columns }: Parameter): Made => {
  const find = `${paramIs(columns.map((one) => one.code))} AND x.val >= ? AND x.val < ?`
  return {
    table: 'ix_str',
    check: find,
    find,
    finds: 2,
    isOrdered: false,
    breadth: BREADTH.string,
    keys: () => columns.map((one) => counterKeyOf(one.code)),
    bindOne(value) {
      const text = normalize(value)
      return text === '' || text.length > KEY_CHARS ? undefined : [text, text + LAST]
    },
  }
}

const make = (parameter: Parameter, hasher: Hasher): Made | undefined => {
  if (parameter.columns.length === 0) return undefined
  if (parameter.type === 'token') return tokenClause(parameter, hasher)
  if (parameter.type === 'reference') return referenceClause(parameter, hasher)
  return parameter.type === 'string' ? stringClause(parameter) : undefined
}

/**
 * `at`: index of the parameter's value. Undefined for a parameter type that is not compiled. An invalid value is left
 * to the general search, which makes the error.
 */
export const compileClause = (parameter: Parameter, at: number, hasher: Hasher): CompiledClause | undefined => {
  const made = make(parameter, hasher)
  if (made === undefined) return undefined
  const { bindOne, ...clause } = made
  return {
    ...clause,
    columns: parameter.columns.map(({ code }) => code),
    bind(values, ownUrl) {
      const value = values[at] as string
      if (parameter.indexing !== undefined || SPECIAL.test(value)) return undefined
      try {
        return bindOne(value, ownUrl)
      } catch {
        return undefined
      }
    },
  }
}

/** Replaces a reference clause and a token clause by one on the column that combines both. */
export const compilePatientCodeClause = (
  column: number,
  reference: CompiledClause,
  token: CompiledClause,
): CompiledClause => {
  const find = `x.param = ${column} AND x.val = ? AND x.sys = ? AND x.val2 = ? AND x.sys2 = ?`
  return {
    table: 'ix_comp',
    columns: [column],
    // The search always starts from this clause, so `check` is not used.
    check: find,
    find,
    absoluteReferences: find,
    finds: 4,
    isOrdered: true,
    breadth: BREADTH.reference,
    keys: ([target, code, , , other]) =>
      [target, other].map((one) => counterKeyOf(column, one as number, code as number)),
    bind(values, ownUrl) {
      const targets = reference.bind(values, ownUrl)
      const [value, system] = token.bind(values, ownUrl) ?? []
      if (targets === undefined || value === undefined || system === undefined) return undefined
      return targets.flatMap((target) => [target, patientCodeKey(value as number), value, system])
    },
  }
}

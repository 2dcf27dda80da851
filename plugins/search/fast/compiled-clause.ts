/**
 * Parameters without modifiers, compiled: a condition with the numbers of columns in its text, and the parameters that
 * values put in. Says of a value exactly what the lookups say.
 */
import type { OwnUrl } from '../../../kernel/index.ts'
import type { SqlParam } from '../../database/service.ts'
import { patientCodeKey } from '../definition/pair-key.ts'
import type { Parameter } from '../definition/parameter.ts'
import { counterKeyOf } from '../index/change-counters.ts'
import type { Hasher } from '../index/hash.ts'
import { KEY_CHARS, normalize } from '../index/normalize.ts'
import { referenceTargets } from '../query/lookups/reference.ts'
import { hashToken, readToken } from '../query/lookups/token.ts'
import { LAST } from '../query/value-context.ts'

export interface CompiledClause {
  readonly table: string
  /** Numbers of the columns it looks into. */
  readonly columns: readonly number[]
  /** Condition on rows `x`, for checking a resource that another clause found. Takes all parameters. */
  readonly check: string
  /** The same for finding; takes the first parameters. */
  readonly find: string
  /** What `find` leaves out and `check` has, next to never stored; takes the other parameters. */
  readonly absoluteReferences?: string
  /** Of the parameters, how many `find` takes. */
  readonly finds: number
  /** Found in the order of rid. */
  readonly isOrdered: boolean
  /** How many rows it is likely to have, as against other clauses: a search starts from the one with the least. */
  readonly breadth: number
  /** Keys of the index under which all that it finds stands: from what `bind` gave. */
  keys(params: readonly SqlParam[]): readonly number[]
  /** From the values of all parameters of the search; undefined for one that takes a closer look. */
  bind(values: readonly string[], ownUrl: OwnUrl | undefined): readonly SqlParam[] | undefined
}

type Made = Omit<CompiledClause, 'bind' | 'columns'> & {
  bindOne(value: string, ownUrl: OwnUrl | undefined): readonly number[] | readonly string[] | undefined
}

// Alternatives, escapes, and components have their own way.
const SPECIAL = /[,\\$]/

/** Of one patient or one thing; of one name; with a code of a system; with one of a few codes. */
const BREADTH = { reference: 0, string: 1, token: 2, code: 3 } as const

/** Numbers of our own making, and few: in the text they let the statement be planned once. */
const paramIs = (codes: readonly number[]): string =>
  codes.length === 1 ? `x.param = ${codes[0]}` : `x.param IN (${codes.join(', ')})`

const MAX_TOKENS = 256
/** Takes the place of the absolute reference where the server has no URL of its own. No row has it: a hash has 48 bits. */
const NO_TARGET = Number.MAX_SAFE_INTEGER

/** Codes that are asked for are few: what they hash to is remembered, within a bound. */
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
  // A code that carries no system is asked for without one, and one that may carry one with it.
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
    // Under our own address: seldom, as whoever writes here knows the relative one.
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
 * `at`: place of its value. Undefined for a parameter of another type. What is wrong with a value is told by whoever takes
 * the closer look.
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

/** A reference and a token of one resource, by the column that holds both together. */
export const compilePatientCodeClause = (
  column: number,
  reference: CompiledClause,
  token: CompiledClause,
): CompiledClause => {
  const find = `x.param = ${column} AND x.val = ? AND x.sys = ? AND x.val2 = ? AND x.sys2 = ?`
  return {
    table: 'ix_comp',
    columns: [column],
    // It is where a search starts, and the only one of its kind in a search.
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

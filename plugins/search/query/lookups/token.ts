/**
 * Lookups of tokens: codes with their systems, displays and identifiers with types.
 * https://hl7.org/fhir/R4/search.html#token
 */
import { DISPLAY_TEXT, IDENTIFIER, OF_TYPE, TEXT_SEPARATOR } from '../../definition/column-codes.ts'
import type { ParameterColumn } from '../../definition/parameter.ts'
import { SearchEmpty, SearchValue } from '../../errors.ts'
import { TEXT_COLUMNS, TOKEN_COLUMNS } from '../../index/index-entries.ts'
import { normalize } from '../../index/normalize.ts'
import { and, isIn, q } from '../../sql/fragment.ts'
import { splitEscaped, unescapeValue } from '../escape.ts'
import { type IndexLookup, someRow } from '../index-lookup.ts'
import type { MatchKey } from '../match-key.ts'
import { codesOf, type ValueContext } from '../value-context.ts'
import { beginsWith } from './string.ts'

export interface TokenValue {
  /** Undefined matches any system; empty matches only codes without one. */
  readonly system: string | undefined
  /** Undefined matches any code. */
  readonly code: string | undefined
}

export const readToken = (name: string, text: string): TokenValue => {
  const parts = splitEscaped(text, '|')
  if (parts.length > 2) throw SearchValue(name, 'a token: code, system|code, |code or system|')
  const [first = '', second] = parts.map(unescapeValue)
  if (second === undefined) {
    if (first === '') throw SearchEmpty(name)
    return { system: undefined, code: first }
  }
  if (first === '' && second === '') throw SearchEmpty(name)
  return { system: first, code: second === '' ? undefined : second }
}

/** A token to find. `system` undefined matches any system. */
interface WantedToken {
  readonly value: number
  readonly system: number | undefined
}

const keysFor = (codes: readonly number[], wanted: readonly WantedToken[]): readonly MatchKey[] =>
  codes.flatMap((column) => wanted.map((one) => ({ kind: 'token' as const, column, ...one })))

const hasToken =
  (codes: readonly number[], wanted: readonly WantedToken[]): IndexLookup['matches'] =>
  ({ token }) => {
    // Without `someRow`, whose function would be made for each of thousands of live queries that a change may hit.
    for (let at = 0; at < token.length; at += TOKEN_COLUMNS) {
      if (!codes.includes(token[at] as number)) continue
      for (const { value, system } of wanted)
        if (value === token[at + 1] && (system === undefined || system === token[at + 2])) return true
    }
    return false
  }

/** `wanted` checks rows in memory. In the table, rows are sought under `systems`, where these are known. */
const tokenRows = (
  codes: readonly number[],
  wanted: readonly WantedToken[],
  systems: readonly number[] | undefined,
): IndexLookup => {
  const values = wanted.map(({ value }) => value)
  const where = [isIn('x.param', codes), isIn('x.val', values)]
  if (systems !== undefined) where.push(isIn('x.sys', systems))
  return {
    table: 'ix_token',
    where: and(where),
    isOrdered: codes.length === 1 && values.length === 1 && systems?.length === 1,
    probeable: systems !== undefined,
    matches: hasToken(codes, wanted),
    keys: keysFor(codes, wanted),
  }
}

/** Makes one lookup for all values that have the same systems. */
const tokensOf = async (
  context: ValueContext,
  codes: readonly number[],
  tokens: readonly { value: number | undefined; system: number | undefined }[],
): Promise<IndexLookup[]> => {
  const { codeSystemsOf } = context
  const bySystem = new Map<string, { wanted: WantedToken[]; systems: readonly number[] | undefined }>()
  const lookups: IndexLookup[] = []
  for (const { value, system } of tokens) {
    if (value === undefined) {
      const where = and([isIn('x.param', codes), q`x.sys = ${system as number}`])
      lookups.push({
        table: 'ix_token',
        where,
        isOrdered: false,
        probeable: false,
        matches: ({ token }) =>
          someRow(token, TOKEN_COLUMNS, (at) => codes.includes(token[at] as number) && token[at + 2] === system),
      })
      continue
    }
    const systems = system === undefined ? await codeSystemsOf(codes, value) : [system]
    // With no systems the code has never been stored, so no row can match.
    const key = systems === undefined ? '*' : systems.join()
    const group = bySystem.get(key)
    // A check in memory compares only the code when the client gave no system: a version that is not stored may use a
    // new one.
    const one = { value, system }
    if (group === undefined) bySystem.set(key, { wanted: [one], systems })
    else group.wanted.push(one)
  }
  for (const { wanted, systems } of bySystem.values()) lookups.push(tokenRows(codes, wanted, systems))
  return lookups
}

export const hashToken = ({ hasher }: Pick<ValueContext, 'hasher'>, { system, code }: TokenValue) => ({
  value: code === undefined ? undefined : hasher.code(code, system ?? ''),
  system: system === undefined ? undefined : system === '' ? 0 : hasher.short(system),
})

/**
 * A code without a system, as it is stored under systems that are not case-sensitive: in lower case. It needs a
 * lookup of its own.
 */
export const caselessToken = (
  hasher: ValueContext['hasher'],
  { system, code }: TokenValue,
): { readonly value: number; readonly systems: readonly number[] } | undefined => {
  if (system !== undefined || code === undefined || hasher.caseless.size === 0) return undefined
  const lower = code.toLowerCase()
  return lower === code ? undefined : { value: hasher.long(lower), systems: [...hasher.caseless].map(hasher.short) }
}

/** Tokens as a column stores them: without the system where the column's codes imply it. */
const impliedTokens = async (
  { impliedSystemsOf }: ValueContext,
  { implied }: ParameterColumn,
  tokens: readonly TokenValue[],
): Promise<readonly TokenValue[]> => {
  if (implied === undefined) return tokens
  const found: TokenValue[] = []
  for (const token of tokens)
    found.push(token.system && (await impliedSystemsOf(implied, token.system)) ? { ...token, system: '' } : token)
  return found
}

export const tokenLookups = async (
  context: ValueContext,
  values: readonly string[],
  beside = 0,
): Promise<readonly IndexLookup[]> => {
  const tokens = values.map((value) => readToken(context.name, value))
  const lookups: IndexLookup[] = []
  const plain = context.columns.filter(({ implied }) => implied === undefined)
  const parts = [
    ...(plain.length > 0 ? [{ columns: plain, tokens }] : []),
    ...(await Promise.all(
      context.columns
        .filter(({ implied }) => implied !== undefined)
        .map(async (column) => ({ columns: [column], tokens: await impliedTokens(context, column, tokens) })),
    )),
  ]
  for (const { columns, tokens: own } of parts)
    lookups.push(
      ...(await tokensOf(
        context,
        codesOf(columns, beside),
        own.map((token) => hashToken(context, token)),
      )),
      ...own.flatMap((token) => {
        const caseless = caselessToken(context.hasher, token)
        if (caseless === undefined) return []
        const { value, systems } = caseless
        const wanted = systems.map((system) => ({ value, system }))
        return [tokenRows(codesOf(columns, beside), wanted, systems)]
      }),
    )
  return lookups
}

/** `:identifier` on a reference. */
export const identifierLookups = (context: ValueContext, values: readonly string[]): Promise<readonly IndexLookup[]> =>
  tokenLookups(context, values, IDENTIFIER)

/** `:of-type` with system|code|value. */
export const ofTypeLookups = (context: ValueContext, values: readonly string[]): Promise<IndexLookup[]> =>
  tokensOf(
    context,
    codesOf(context.columns, OF_TYPE),
    values.map((text) => {
      const parts = splitEscaped(text, '|').map(unescapeValue)
      const [system = '', code = '', value = ''] = parts
      if (parts.length !== 3 || system === '' || code === '' || value === '')
        throw SearchValue(context.name, 'system|code|value of an identifier')
      return { value: context.hasher.long(`${code}${TEXT_SEPARATOR}${value}`), system: context.hasher.short(system) }
    }),
  )

/** `:text` matches displays that begin with the text. The token rows contain the hash of the display. */
export const textLookups = ({ name, columns, dialect }: ValueContext, values: readonly string[]): IndexLookup[] => {
  const codes = codesOf(columns, DISPLAY_TEXT)
  return values.map((text) => {
    const wanted = normalize(unescapeValue(text))
    if (wanted === '') throw SearchEmpty(name)
    const displays = q`SELECT t.val FROM ix_text t WHERE ${isIn('t.param', codes)} AND ${beginsWith(dialect, 't.txt', 't.tail', wanted)}`
    return {
      table: 'ix_token',
      where: q`${isIn('x.param', codes)} AND x.sys = 0 AND x.val IN (${displays})`,
      isOrdered: false,
      probeable: true,
      matches: ({ text: rows }) =>
        someRow(
          rows,
          TEXT_COLUMNS,
          (at) => codes.includes(rows[at] as number) && String(rows[at + 3] ?? rows[at + 1]).startsWith(wanted),
        ),
    }
  })
}

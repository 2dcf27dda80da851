/** Tokens, references, strings, uris and composites: values and modifiers → lookups. https://hl7.org/fhir/R4/search.html#ptypes */
import { IDENTIFIER, type Kind, OF_TYPE, TEXT, TEXT_SEPARATOR } from './convert.ts'
import { SearchEmpty, SearchValue } from './errors.ts'
import { splitEscaped, unescapeValue } from './escape.ts'
import { fold, KEY_CHARS, toKey } from './fold.ts'
import { and, type Fragment, isIn, or, q, raw } from './fragment.ts'
import type { Hasher } from './hash.ts'
import { anyRow, type Lookup } from './lookup.ts'
import { componentBounds } from './ordered-lookups.ts'
import type { ParameterColumn } from './registry.ts'
import type { Rows } from './rows.ts'

/** What every value needs to know of its parameter and the server. */
export interface ValueContext {
  readonly name: string
  readonly hasher: Hasher
  readonly columns: readonly ParameterColumn[]
  readonly dialect: 'sqlite' | 'postgres'
  /** `http://host/fhir`, so that a reference to ourselves is told by its path. */
  readonly baseUrl: string
  /** Milliseconds since the epoch. */
  readonly now: number
  /** Systems under which a code occurs, when they are few: then rows come in order and can be sought by rid. */
  readonly systemsOf: (params: readonly number[], value: number) => Promise<readonly number[] | undefined>
}

const LAST = '\u{10ffff}'

const codesOf = (columns: readonly ParameterColumn[], beside = 0): readonly number[] =>
  columns.map(({ code }) => code + beside)

// token

export interface TokenValue {
  /** Undefined: whatever system. Empty: none. */
  readonly system: string | undefined
  /** Undefined: whatever code. */
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

const tokenRows = (
  codes: readonly number[],
  values: readonly number[],
  systems: readonly number[] | undefined,
): Lookup => {
  const where = [isIn('x.param', codes), isIn('x.val', values)]
  if (systems !== undefined) where.push(isIn('x.sys', systems))
  return {
    table: 'ix_token',
    where: and(where),
    ordered: codes.length === 1 && values.length === 1 && systems?.length === 1,
    probeable: systems !== undefined,
    test: ({ token }: Rows) =>
      anyRow(
        token,
        3,
        (at) =>
          codes.includes(token[at] as number) &&
          values.includes(token[at + 1] as number) &&
          (systems === undefined || systems.includes(token[at + 2] as number)),
      ),
  }
}

/** Values that share what they say of the system become one lookup. */
const tokensOf = async (
  context: ValueContext,
  codes: readonly number[],
  tokens: readonly { value: number | undefined; system: number | undefined }[],
): Promise<Lookup[]> => {
  const { systemsOf } = context
  const bySystem = new Map<string, { values: number[]; systems: readonly number[] | undefined }>()
  const lookups: Lookup[] = []
  for (const { value, system } of tokens) {
    if (value === undefined) {
      const where = and([isIn('x.param', codes), q`x.sys = ${system as number}`])
      lookups.push({
        table: 'ix_token',
        where,
        ordered: false,
        probeable: false,
        test: ({ token }) => anyRow(token, 3, (at) => codes.includes(token[at] as number) && token[at + 2] === system),
      })
      continue
    }
    const systems = system === undefined ? await systemsOf(codes, value) : [system]
    // A code nobody has used yet: no row can match, under whatever system.
    const key = systems === undefined ? '*' : systems.join()
    const group = bySystem.get(key)
    if (group === undefined) bySystem.set(key, { values: [value], systems })
    else group.values.push(value)
  }
  for (const { values, systems } of bySystem.values()) {
    const lookup = tokenRows(codes, values, systems)
    // Rows of a version that is not stored are judged by the code alone where no system was given.
    lookups.push(
      tokens.some(({ system }) => system === undefined)
        ? { ...lookup, test: tokenRows(codes, values, undefined).test }
        : lookup,
    )
  }
  return lookups
}

const hashToken = ({ hasher }: ValueContext, { system, code }: TokenValue) => ({
  value: code === undefined ? undefined : hasher.long(code),
  system: system === undefined ? undefined : system === '' ? 0 : hasher.short(system),
})

export const tokenLookups = (context: ValueContext, values: readonly string[], beside = 0): Promise<Lookup[]> =>
  tokensOf(
    context,
    codesOf(context.columns, beside),
    values.map((value) => hashToken(context, readToken(context.name, value))),
  )

/** `:identifier` on a reference. */
export const identifierLookups = (context: ValueContext, values: readonly string[]): Promise<Lookup[]> =>
  tokenLookups(context, values, IDENTIFIER)

/** `:of-type` with system|code|value. */
export const ofTypeLookups = (context: ValueContext, values: readonly string[]): Promise<Lookup[]> =>
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

/** `:text`: displays that begin with the text; their rows hold the hash of the display. */
export const textLookups = ({ name, columns }: ValueContext, values: readonly string[]): Lookup[] => {
  const codes = codesOf(columns, TEXT)
  return values.map((text) => {
    const wanted = toKey(fold(unescapeValue(text)))
    if (wanted === '') throw SearchEmpty(name)
    const displays = q`SELECT t.val FROM ix_text t WHERE ${isIn('t.param', codes)} AND t.txt >= ${wanted} AND t.txt < ${wanted + LAST}`
    return {
      table: 'ix_token',
      where: q`${isIn('x.param', codes)} AND x.sys = 0 AND x.val IN (${displays})`,
      ordered: false,
      probeable: true,
      test: ({ text: rows }) =>
        anyRow(rows, 3, (at) => codes.includes(rows[at] as number) && String(rows[at + 1]).startsWith(wanted)),
    }
  })
}

// reference

const ID = /^[A-Za-z0-9\-.]{1,64}$/
const LITERAL = /^([A-Z][A-Za-z]+)\/([A-Za-z0-9\-.]{1,64})(\/_history\/[A-Za-z0-9\-.]{1,64})?$/

/**
 * Texts a reference may be stored under to be what a value asks for. A bare id may be of any of `types`; `only` is the
 * type that a modifier or the parameter itself insists on.
 */
export const referenceTargets = (
  { name, baseUrl }: Pick<ValueContext, 'name' | 'baseUrl'>,
  text: string,
  types: readonly string[],
  only?: string,
): readonly string[] => {
  const value = text.startsWith(`${baseUrl}/`) ? text.slice(baseUrl.length + 1) : text
  if (value === '') throw SearchEmpty(name)
  const literal = LITERAL.exec(value)
  if (literal !== null) return only !== undefined && literal[1] !== only ? [] : [value, `${baseUrl}/${value}`]
  if (ID.test(value)) {
    if (types.length === 0)
      throw SearchValue(name, 'a reference with its type, such as Patient/23: it may point at many')
    // A relative canonical may look like an id.
    const itself = only === undefined ? [value] : []
    return [...types.flatMap((type) => [`${type}/${value}`, `${baseUrl}/${type}/${value}`]), ...itself]
  }
  if (/^[a-z][a-z0-9+.-]*:/i.test(value)) return [value]
  throw SearchValue(name, 'a reference: Type/id, id or a URL')
}

export const referenceLookup = (columns: readonly ParameterColumn[], targets: readonly number[]): Lookup => {
  const codes = codesOf(columns)
  return {
    table: 'ix_ref',
    where: and([isIn('x.param', codes), isIn('x.target', targets)]),
    ordered: codes.length === 1 && targets.length === 1,
    probeable: true,
    test: ({ reference }) =>
      anyRow(
        reference,
        2,
        (at) => codes.includes(reference[at] as number) && targets.includes(reference[at + 1] as number),
      ),
  }
}

/** `only` is the type that a modifier names, `types` those that a bare id may be of. */
export const referenceLookups = (
  context: ValueContext,
  values: readonly string[],
  types: readonly string[],
  only: string | undefined,
): Lookup[] =>
  [...Map.groupBy(context.columns, ({ refers }) => refers)].map(([refers, columns]) => {
    // A parameter for references to Patient has no answer for another type.
    if (only !== undefined && refers !== undefined && only !== refers) return referenceLookup(columns, [])
    const narrowed = only ?? refers
    const targets = values.flatMap((value) =>
      referenceTargets(context, unescapeValue(value), narrowed === undefined ? types : [narrowed], narrowed),
    )
    return referenceLookup(columns, [...new Set(targets)].map(context.hasher.long))
  })

// string

const startsWith = (dialect: ValueContext['dialect'], text: string): Fragment =>
  dialect === 'sqlite'
    ? q`substr(coalesce(x.tail, x.val), 1, ${[...text].length}) = ${text}`
    : q`starts_with(coalesce(x.tail, x.val), ${text})`

const contains = (dialect: ValueContext['dialect'], text: string): Fragment =>
  dialect === 'sqlite'
    ? q`instr(coalesce(x.tail, x.val), ${text}) > 0`
    : q`strpos(coalesce(x.tail, x.val), ${text}) > 0`

const stringRow =
  (codes: readonly number[], test: (text: string, exact: unknown) => boolean) =>
  ({ string }: Rows): boolean =>
    anyRow(
      string,
      4,
      (at) => codes.includes(string[at] as number) && test(String(string[at + 3] ?? string[at + 1]), string[at + 2]),
    )

/** Text that begins so. */
const prefixLookup = (dialect: ValueContext['dialect'], codes: readonly number[], text: string): Lookup => {
  const key = toKey(text)
  const range = q`${isIn('x.param', codes)} AND x.val >= ${key} AND x.val < ${key + LAST}`
  return {
    table: 'ix_str',
    where: text.length <= KEY_CHARS ? range : q`${range} AND ${startsWith(dialect, text)}`,
    ordered: false,
    probeable: true,
    test: stringRow(codes, (one) => one.startsWith(text)),
  }
}

export const stringLookups = (
  context: ValueContext,
  values: readonly string[],
  modifier: string | undefined,
): Lookup[] => {
  const { name, hasher, dialect } = context
  const codes = codesOf(context.columns)
  return values.map((value) => {
    const text = unescapeValue(value)
    const folded = fold(text)
    // Only marks and spaces: nothing is left to compare.
    if (folded === '') throw SearchEmpty(name)
    if (modifier === 'exact') {
      const exact = hasher.long(text)
      return {
        table: 'ix_str',
        where: q`${isIn('x.param', codes)} AND x.val = ${toKey(folded)} AND x.exact = ${exact}`,
        ordered: codes.length === 1,
        probeable: true,
        test: stringRow(codes, (_one, hash) => hash === exact),
      }
    }
    if (modifier === 'contains')
      return {
        table: 'ix_str',
        where: q`${isIn('x.param', codes)} AND ${contains(dialect, folded)}`,
        ordered: false,
        probeable: true,
        test: stringRow(codes, (one) => one.includes(folded)),
      }
    return prefixLookup(dialect, codes, folded)
  })
}

// uri

/** `http://a/b/c` and everything above it at a slash. */
const above = (uri: string): readonly string[] => {
  const found = [uri]
  for (let at = uri.length - 1; at > 0; at -= 1)
    if (uri.charAt(at) === '/' && !uri.slice(0, at + 1).endsWith('://'))
      found.push(uri.slice(0, at), uri.slice(0, at + 1))
  return [...new Set(found)].slice(0, 64)
}

export const uriLookups = (
  { hasher, columns, dialect, name }: ValueContext,
  values: readonly string[],
  modifier: string | undefined,
): Lookup[] => {
  const codes = codesOf(columns)
  const exactly = (uris: readonly string[]): Lookup => {
    const hashes = uris.map(hasher.long)
    return {
      table: 'ix_str',
      where: and([isIn('x.param', codes), isIn('x.val', [...new Set(uris.map(toKey))]), isIn('x.exact', hashes)]),
      ordered: codes.length === 1 && uris.length === 1,
      probeable: true,
      test: stringRow(codes, (_one, hash) => hashes.includes(hash as number)),
    }
  }
  const uris = values.map(unescapeValue)
  if (uris.some((uri) => uri === '')) throw SearchEmpty(name)
  if (modifier === 'below') return uris.map((uri) => prefixLookup(dialect, codes, uri))
  return [exactly(modifier === 'above' ? uris.flatMap(above) : uris)]
}

// composite

/** Where a component's condition stands among the columns of `ix_comp`. */
const componentLookup = async (
  context: ValueContext,
  kind: Kind,
  text: string,
  at: number,
): Promise<{ where: Fragment; test: (row: readonly unknown[], start: number) => boolean }> => {
  const { name, hasher, now } = context
  const [value, system, place] = at === 0 ? ['x.val', 'x.sys', 1] : ['x.val2', 'x.sys2', 5]
  if (kind === 'date' || kind === 'quantity') return componentBounds(name, hasher, kind, text, now, at > 1)
  if (kind === 'token') {
    const token = hashToken(context, readToken(name, text))
    const where: Fragment[] = []
    if (token.value !== undefined) where.push(q`${raw(value)} = ${token.value}`)
    if (token.system !== undefined) where.push(q`${raw(system)} = ${token.system}`)
    return {
      where: and(where),
      test: (row, start) =>
        (token.value === undefined || row[start + place] === token.value) &&
        (token.system === undefined || row[start + place + 1] === token.system),
    }
  }
  if (kind === 'reference') {
    const hashes = referenceTargets(context, unescapeValue(text), []).map(hasher.long)
    return { where: isIn(value, hashes), test: (row, start) => hashes.includes(row[start + place] as number) }
  }
  const wanted = toKey(kind === 'uri' ? unescapeValue(text) : fold(unescapeValue(text)))
  if (wanted === '') throw SearchEmpty(name)
  return {
    where: q`x.txt >= ${wanted} AND x.txt < ${wanted + LAST}`,
    test: (row, start) => String(row[start + 9]).startsWith(wanted),
  }
}

export const compositeLookups = async (
  context: ValueContext,
  kinds: readonly Kind[],
  values: readonly string[],
): Promise<Lookup[]> => {
  const codes = codesOf(context.columns)
  const lookups: Lookup[] = []
  for (const value of values) {
    const parts = splitEscaped(value, '$')
    if (parts.length !== kinds.length || parts.includes(''))
      throw SearchValue(context.name, `${kinds.length} values joined by $, such as code$value`)
    const conditions: Awaited<ReturnType<typeof componentLookup>>[] = []
    for (const [at, kind] of kinds.entries())
      conditions.push(await componentLookup(context, kind, parts[at] as string, at))
    lookups.push({
      table: 'ix_comp',
      where: or([and([isIn('x.param', codes), ...conditions.map(({ where }) => where)])]),
      ordered: false,
      probeable: true,
      test: ({ composite }) =>
        anyRow(
          composite,
          10,
          (at) => codes.includes(composite[at] as number) && conditions.every(({ test }) => test(composite, at)),
        ),
    })
  }
  return lookups
}

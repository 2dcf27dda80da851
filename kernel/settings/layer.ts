/**
 * The layers of settings: file < environment < flags, or an embedding host's object. Remembers where each value came
 * from.
 */
import { type OwnedSection, type SettingSchema, settingsOf, variablesOf } from './annotation.ts'
import { convert } from './convert.ts'

export type Origin =
  | { readonly source: 'default' }
  | { readonly source: 'file'; readonly file: string; readonly line: number }
  | { readonly source: 'environment'; readonly name: string }
  | { readonly source: 'flag'; readonly name: string }
  | { readonly source: 'host' }

export interface Layered {
  /**
   * Nested by section, as in the file. Before `declare` it holds the file only, which can be read without declarations.
   */
  readonly values: Readonly<Record<string, unknown>>
  /**
   * `database.kind` → where its value came from. A place inside a value has the origin of the nearest known place
   * around it.
   */
  origin(path: string): Origin
  /** The files that were read. */
  readonly places: readonly string[]
  /** The same layers with those variables and flags on top that these sections declare. */
  declare(sections: readonly OwnedSection[]): Layered
}

export type Table = Record<string, unknown>

export const isTable = (value: unknown): value is Table => {
  if (typeof value !== 'object' || value === null) return false
  const prototype = Object.getPrototypeOf(value)
  return prototype === null || prototype === Object.prototype
}

/** The value at a dotted path, or undefined. */
export const valueAt = (values: Readonly<Table>, path: string): unknown =>
  path.split('.').reduce<unknown>((at, word) => (isTable(at) && Object.hasOwn(at, word) ? at[word] : undefined), values)

/** A file as read: its tables and the line of each key. */
export interface SettingsFile {
  readonly file: string
  readonly values: Table
  /** `database.kind` → line, counted from 1. */
  readonly lines: ReadonlyMap<string, number>
}

export interface Sources {
  readonly file?: SettingsFile | undefined
  /**
   * An empty variable counts as unset, except for our own variables of settings that take text: the check refuses
   * those.
   */
  readonly environment?: Readonly<Record<string, string | undefined>>
  /** Flag without dashes → its value, `true` for one without value, or the list of a repeated one. */
  readonly flags?: Readonly<Record<string, string | boolean | readonly string[] | undefined>>
}

const DEFAULT: Origin = Object.freeze({ source: 'default' })
const HOST: Origin = Object.freeze({ source: 'host' })

/** `a.b.c`, `a.b`, `a`: from the place itself outwards. */
function* outwards(path: string): Generator<string> {
  let at = path
  while (at !== '') {
    yield at
    at = at.slice(0, Math.max(0, at.lastIndexOf('.')))
  }
}

const has = (values: unknown, path: string): boolean => {
  let at = values
  for (const word of path.split('.')) {
    if (!isTable(at) || !Object.hasOwn(at, word)) return false
    at = at[word]
  }
  return true
}

/** Settings of an embedding host. The object is copied when decoded, never changed. */
export const fromObject = (values: object): Layered => {
  const layered: Layered = {
    values: values as Table,
    origin: (path) => {
      for (const at of outwards(path)) if (has(values, at)) return HOST
      return DEFAULT
    },
    places: [],
    declare: () => layered,
  }
  return layered
}

interface Given {
  readonly path: string
  readonly value: unknown
  readonly origin: Origin
}

const fromEnvironment = (
  path: string,
  schema: SettingSchema,
  environment: NonNullable<Sources['environment']>,
): Given[] => {
  // Deployments often set an empty variable where its source is missing. A missing database, key or URL must not
  // silently become the default one. Empty variables of others, such as AWS_REGION, count as unset.
  const isGiven = (one: string): boolean =>
    environment[one] !== undefined &&
    (environment[one] !== '' || (schema.type === 'string' && one.startsWith('SERVER_')))
  const name = variablesOf(schema).find(isGiven)
  if (name === undefined) return []
  return [{ path, value: convert(schema, environment[name] as string), origin: { source: 'environment', name } }]
}

const fromFlags = (path: string, schema: SettingSchema, flags: NonNullable<Sources['flags']>): Given[] => {
  const given: Given[] = []
  for (const [name, value] of Object.entries(schema.flagValues ?? {}))
    if (flags[name] === true) given.push({ path, value, origin: { source: 'flag', name } })
  const name = schema.flag
  const text = name === undefined ? undefined : flags[name]
  if (name === undefined || text === undefined) return given
  const origin: Origin = { source: 'flag', name: text === false ? `no-${name}` : name }
  given.push({ path, value: convert(schema, text), origin })
  for (const [other, value] of Object.entries(schema.flagSets ?? {})) given.push({ path: other, value, origin })
  return given
}

/**
 * A copy of `values` with `value` at `path`; tables on the way are copied too. A non-table on the way stays, for the
 * check to refuse.
 */
export const put = (values: Readonly<Table>, [word, ...rest]: string[], value: unknown): Table => {
  if (word === undefined) return values
  const own = Object.hasOwn(values, word) ? values[word] : undefined
  if (rest.length === 0) return { ...values, [word]: value }
  if (own !== undefined && !isTable(own)) return values
  return { ...values, [word]: put(own ?? {}, rest, value) }
}

/** Layers of a server started from the command line. */
export const fromSources = ({ file, environment = {}, flags = {} }: Sources): Layered => {
  const ofFile = (path: string): Origin => {
    if (file === undefined) return DEFAULT
    for (const at of outwards(path)) {
      const line = file.lines.get(at)
      if (line !== undefined) return { source: 'file', file: file.file, line }
    }
    return DEFAULT
  }
  const places = file === undefined ? [] : [file.file]
  const declare = (sections: readonly OwnedSection[]): Layered => {
    const settings = settingsOf(sections)
    const given = [
      ...settings.flatMap(({ path, schema }) => fromEnvironment(path, schema, environment)),
      ...settings.flatMap(({ path, schema }) => fromFlags(path, schema, flags)),
    ]
    let values = file?.values ?? {}
    const origins = new Map<string, Origin>()
    for (const { path, value, origin } of given) {
      values = put(values, path.split('.'), value)
      origins.set(path, origin)
    }
    const origin = (path: string): Origin => {
      for (const at of outwards(path)) {
        const known = origins.get(at)
        if (known !== undefined) return known
        if (file?.lines.has(at)) break
      }
      return ofFile(path)
    }
    return { values, origin, places, declare }
  }
  return { values: file?.values ?? {}, origin: ofFile, places, declare }
}

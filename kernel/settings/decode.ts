/** The sections of all plugins and the layers of values → one frozen object per section, or all complaints at once. */
import { Check } from 'typebox/schema'
import { allowed } from './allowed.ts'
import {
  annotated,
  type OwnedSection,
  type Setting,
  type SettingSchema,
  settingsOf,
  variablesOf,
} from './annotation.ts'
import { NoSuchSection, SettingsInvalid } from './errors.ts'
import { isTable, type Layered, type Origin, type Table } from './layer.ts'
import { nearest } from './nearest.ts'
import { MASK, passwordsIn, withoutPasswords } from './secrets.ts'

export type { OwnedSection } from './annotation.ts'
export { SettingsInvalid } from './errors.ts'

export interface Reported {
  /** `smart.oidc.client_id`; a map has one line for each of its values. */
  readonly path: string
  /** `undefined` for an optional setting that is not set. Masked when secret, and without the password of a URL. */
  readonly value: unknown
  readonly origin: Origin
  readonly secret: boolean
}

export interface DecodedSettings {
  /** Deep frozen, defaults filled in, with the keys of all plugins that declare this section. Throws `NoSuchSection`. */
  section(path: string): Readonly<Record<string, unknown>>
  report(): readonly Reported[]
  /** Values to keep out of logs: of settings marked secret, and passwords inside URLs. */
  secrets(): readonly string[]
}

const SHOWN = 60 // characters of a refused value in a complaint

const show = (value: unknown): string => {
  let text: string | undefined
  if (typeof value === 'bigint' || typeof value === 'number') text = String(value)
  else if (value instanceof Date) text = value.toISOString()
  else text = JSON.stringify(withoutPasswords(value))
  if (text === undefined) return typeof value
  return text.length > SHOWN ? `${text.slice(0, SHOWN)}…` : text
}

/** Where an operator finds the value: `server.toml:12`, `SERVER_DB_POOL`, `--db-pool`. */
export const place = (origin: Origin): string => {
  switch (origin.source) {
    case 'file':
      return `${origin.file}:${origin.line}`
    case 'environment':
      return origin.name
    case 'flag':
      return `--${origin.name}`
    default:
      return 'settings'
  }
}

const plain = (value: unknown): unknown => {
  if (Array.isArray(value)) return Object.freeze(value.map(plain))
  if (!isTable(value)) return value
  const copy: Table = Object.create(null)
  for (const [key, item] of Object.entries(value)) copy[key] = plain(item)
  return Object.freeze(copy)
}

/** One run over the values. Collects complaints; what it returns counts only when there are none. */
const createCheck = (sections: readonly OwnedSection[], layered: Layered) => {
  const settings = settingsOf(sections)
  const bySection = Map.groupBy(settings, (setting) => setting.section)
  // Prefixes too: `smart.oidc` makes `smart` a table, and `plugin.acme` makes `plugin` one.
  const tables = new Set([
    'plugin', // known even when no third-party plugin is loaded, so that the complaint can say what to do
    ...sections.flatMap(({ path }) => path.split('.').map((_, at, words) => words.slice(0, at + 1).join('.'))),
  ])
  const declared = new Set(sections.map(({ path }) => path))
  const complaints: string[] = []

  const complain = (path: string, about: string): void => {
    const origin = layered.origin(path)
    complaints.push(`${place(origin)}: ${about}`)
  }
  /** `[smart.oidc] client_id`, `[rate_limit] clients.app.burst` */
  const named = ({ section, path }: Setting, at: string = path): string =>
    `[${section}] ${at.slice(section.length + 1)}`

  const unknownKey = (section: string, key: string): void => {
    const path = `${section}.${key}`
    // Never its value: a misspelt secret is still a secret.
    if (section === 'plugin') {
      complain(
        path,
        `[plugin.${key}]: no plugin named ${key} is loaded; add it to [plugins] load, or remove the section`,
      )
      return
    }
    const near = nearest(
      key,
      (bySection.get(section) ?? []).map((one) => one.key),
    )
    const elsewhere = settings.find((one) => one.key === key)
    const hint =
      near !== undefined
        ? `; did you mean ${near}?`
        : elsewhere !== undefined
          ? `; it belongs to [${elsewhere.section}]`
          : bySection.has(section)
            ? `; it takes ${bySection
                .get(section)!
                .map((one) => one.key)
                .join(', ')}`
            : ''
    complain(path, `[${section}] ${key} is not a setting${hint}`)
  }
  const unknownSection = (name: string): void => {
    const tops = [...tables].filter((one) => !one.includes('.') && one !== 'plugin')
    const near = nearest(name, tops)
    const owner = settings.find((one) => one.key === name)
    const hint =
      near !== undefined
        ? `; did you mean [${near}]?`
        : owner !== undefined
          ? `; ${name} belongs to [${owner.section}]`
          : `; it takes ${tops.map((one) => `[${one}]`).join(', ')}`
    complain(name, `[${name}] is not a section of any plugin${hint}`)
  }

  const wrong = (setting: Setting, schema: SettingSchema, value: unknown, path: string): undefined => {
    const is = setting.schema.secret === true || schema.secret === true ? 'is not valid' : `is ${show(value)}`
    complain(path, `${named(setting, path)} ${is}; it takes ${allowed(schema)}`)
  }

  const nested = (setting: Setting, schema: SettingSchema, value: unknown, path: string): unknown => {
    if (!isTable(value)) return wrong(setting, schema, value, path)
    // Null prototype: maps are asked for keys that come from outside, such as a client called "constructor".
    const result: Table = Object.create(null)
    const { properties = {}, patternProperties = {}, required = [] } = schema
    for (const [key, item] of Object.entries(value)) {
      if (item === undefined || Object.hasOwn(properties, key)) continue
      const pattern = Object.keys(patternProperties).find((one) => new RegExp(one, 'u').test(key))
      if (pattern !== undefined) result[key] = checked(setting, patternProperties[pattern]!, item, `${path}.${key}`)
      else {
        const near = nearest(key, Object.keys(properties))
        const hint = near === undefined ? `it takes ${Object.keys(properties).join(', ')}` : `did you mean ${near}?`
        complain(`${path}.${key}`, `${named(setting, `${path}.${key}`)} is not a setting; ${hint}`)
      }
    }
    for (const [key, own] of Object.entries(properties)) {
      const item = Object.hasOwn(value, key) ? value[key] : undefined
      const filled = item ?? own.default
      if (filled !== undefined) result[key] = checked(setting, own, filled, `${path}.${key}`)
      else if (required.includes(key))
        complain(path, `${named(setting, `${path}.${key}`)} is missing; it takes ${allowed(own)}`)
    }
    return Object.freeze(result)
  }

  const checked = (setting: Setting, schema: SettingSchema, value: unknown, path: string): unknown => {
    if (schema.properties !== undefined || schema.patternProperties !== undefined)
      return nested(setting, schema, value, path)
    if (schema.type === 'array' && Array.isArray(value) && schema.items !== undefined) {
      const before = complaints.length
      const items = value.map((item, at) => checked(setting, schema.items!, item, `${path}.${at}`))
      if (complaints.length > before) return undefined
      if (!Check(schema as object, value)) return wrong(setting, schema, value, path)
      return Object.freeze(items)
    }
    if (!Check(schema as object, value)) return wrong(setting, schema, value, path)
    return plain(value)
  }

  const missing = (setting: Setting): void => {
    const { schema } = setting
    const ways = [
      ...(schema.fileForbidden ? [] : [`${setting.key} under [${setting.section}]`]),
      ...variablesOf(schema).slice(0, 1),
      ...(schema.flag === undefined ? [] : [`--${schema.flag}`]),
    ]
    complaints.push(`settings: ${named(setting)} is missing; set ${ways.join(' or ')} to ${allowed(schema)}`)
  }

  const section = (path: string, given: unknown): Readonly<Table> => {
    const result: Table = {}
    const table = isTable(given) ? given : {}
    if (given !== undefined && !isTable(given)) complain(path, `${path} is ${show(given)}; [${path}] is a table`)
    const whenPresent: Table = {}
    for (const one of sections)
      if (one.path === path && given !== undefined) Object.assign(whenPresent, annotated(one.schema).whenPresent)
    const own = bySection.get(path) ?? []
    for (const key of Object.keys(table)) {
      const known = own.some((one) => one.key === key) || tables.has(`${path}.${key}`)
      if (!known && table[key] !== undefined) unknownKey(path, key)
    }
    for (const setting of own) {
      const { key, schema } = setting
      const value = Object.hasOwn(table, key) ? table[key] : undefined
      if (value === undefined) {
        const filled = Object.hasOwn(whenPresent, key) ? whenPresent[key] : schema.default
        if (filled !== undefined) result[key] = checked(setting, schema, filled, setting.path)
        else if (setting.required) missing(setting)
      } else if (schema.fileForbidden === true && layered.origin(setting.path).source === 'file') {
        const instead = [...variablesOf(schema).slice(0, 1), ...(schema.flag === undefined ? [] : [`--${schema.flag}`])]
        complain(setting.path, `${named(setting)} is kept out of the file; set ${instead.join(' or ')} instead`)
      } else result[key] = checked(setting, schema, value, setting.path)
    }
    return Object.freeze(result)
  }

  const walk = (): ReadonlyMap<string, Readonly<Table>> => {
    const result = new Map<string, Readonly<Table>>()
    for (const name of Object.keys(layered.values))
      if (!tables.has(name) && layered.values[name] !== undefined) unknownSection(name)
    for (const path of tables) {
      const words = path.split('.')
      let given: unknown = layered.values
      for (const word of words) given = isTable(given) && Object.hasOwn(given, word) ? given[word] : undefined
      const decoded = section(path, given)
      if (declared.has(path)) result.set(path, decoded)
    }
    return result
  }
  return { settings, complaints, walk }
}

const reported = (setting: Setting, value: unknown, path: string, layered: Layered): Reported[] => {
  const secret = setting.schema.secret === true
  const inside = isTable(value) ? Object.entries(value) : []
  if (!secret && inside.length > 0)
    return inside.flatMap(([key, item]) => reported(setting, item, `${path}.${key}`, layered))
  const shown = value === undefined ? undefined : secret ? MASK : withoutPasswords(value)
  return [{ path, value: shown, origin: layered.origin(path), secret }]
}

/** Checks everything and fills in defaults. Throws `SettingsInvalid` with all complaints, `SettingTwice` for a key with two owners. */
export const decode = (sections: readonly OwnedSection[], layers: Layered): DecodedSettings => {
  const layered = layers.declare(sections)
  const { settings, complaints, walk } = createCheck(sections, layered)
  const decoded = walk()
  if (complaints.length > 0) throw new SettingsInvalid(complaints)
  const decodedValue = ({ section, key }: Setting): unknown => decoded.get(section)![key]
  return {
    section: (path) => {
      const found = decoded.get(path)
      if (found === undefined) throw NoSuchSection(path)
      return found
    },
    report: () => settings.flatMap((setting) => reported(setting, decodedValue(setting), setting.path, layered)),
    secrets: () => {
      const found = new Set<string>()
      for (const setting of settings) {
        const value = decodedValue(setting)
        for (const password of passwordsIn(value)) found.add(password)
        if (setting.schema.secret !== true) continue
        for (const text of Array.isArray(value) ? value : [value]) if (typeof text === 'string') found.add(text)
      }
      return [...found]
    },
  }
}

/**
 * Checks one value against its schema: fills in nested defaults, freezes, and reports each wrong part at its own path.
 */
import { allowed } from './allowed.ts'
import type { Setting, SettingSchema } from './annotation.ts'
import { closestKey } from './closest-key.ts'
import { isTable, type Table } from './layer.ts'
import { meets } from './meets.ts'
import { show } from './show.ts'

/** `[smart.oidc] client_id`, `[rate_limit] clients.app.burst` */
export const named = ({ section, path }: Setting, at: string = path): string =>
  `[${section}] ${at.slice(section.length + 1)}`

/**
 * A frozen copy. Without a prototype, because maps are read with keys from outside, such as a client called
 * "constructor".
 */
const frozen = (value: unknown): unknown => {
  if (Array.isArray(value)) return Object.freeze(value.map(frozen))
  if (!isTable(value)) return value
  const copy: Table = Object.create(null)
  for (const [key, item] of Object.entries(value)) copy[key] = frozen(item)
  return Object.freeze(copy)
}

export type CheckValue = (setting: Setting, schema: SettingSchema, value: unknown, path: string) => unknown

/** The schema that a key of a table falls under, or undefined for an unknown key. */
export const schemaOfKey = (schema: SettingSchema, key: string): SettingSchema | undefined => {
  const { properties = {}, patternProperties = {} } = schema
  if (Object.hasOwn(properties, key)) return properties[key]
  const pattern = Object.keys(patternProperties).find((one) => new RegExp(one, 'u').test(key))
  return pattern === undefined ? undefined : patternProperties[pattern]
}

/**
 * Makes a check that reports faults by `complain(path, sentence)`. The value it returns is valid only without
 * complaints.
 */
export const createCheck = (complain: (path: string, about: string) => void): CheckValue => {
  let complaints = 0
  const refuse = (path: string, about: string): undefined => {
    complaints++
    complain(path, about)
    return undefined
  }
  const wrong = (setting: Setting, schema: SettingSchema, value: unknown, path: string): undefined => {
    const is = setting.schema.secret === true || schema.secret === true ? 'is not valid' : `is ${show(value)}`
    return refuse(path, `${named(setting, path)} ${is}; it takes ${allowed(schema)}`)
  }
  const table: CheckValue = (setting, schema, value, path) => {
    if (!isTable(value)) return wrong(setting, schema, value, path)
    const result: Table = Object.create(null)
    const known = Object.keys(schema.properties ?? {})
    for (const [key, item] of Object.entries(value)) {
      if (item === undefined) continue
      const at = `${path}.${key}`
      const own = schemaOfKey(schema, key)
      const near = own === undefined ? closestKey(key, known) : undefined
      const hint = near === undefined ? `it takes ${known.join(', ')}` : `did you mean ${near}?`
      if (own !== undefined) result[key] = check(setting, own, item, at)
      else refuse(at, `${named(setting, at)} is not a setting; ${hint}`)
    }
    for (const [key, own] of Object.entries(schema.properties ?? {})) {
      if (Object.hasOwn(value, key) && value[key] !== undefined) continue
      const at = `${path}.${key}`
      if (own.default !== undefined) result[key] = check(setting, own, own.default, at)
      else if (schema.required?.includes(key)) refuse(at, `${named(setting, at)} is missing; it takes ${allowed(own)}`)
    }
    return Object.freeze(result)
  }
  const list = (setting: Setting, schema: SettingSchema, value: readonly unknown[], path: string): unknown => {
    const before = complaints
    const items = value.map((item, at) => check(setting, schema.items ?? {}, item, `${path}.${at}`))
    if (complaints > before) return undefined
    return meets(schema, value) ? Object.freeze(items) : wrong(setting, schema, value, path)
  }
  const check: CheckValue = (setting, schema, value, path) => {
    if (schema.properties !== undefined || schema.patternProperties !== undefined)
      return table(setting, schema, value, path)
    if (schema.type === 'array' && Array.isArray(value)) return list(setting, schema, value, path)
    return meets(schema, value) ? frozen(value) : wrong(setting, schema, value, path)
  }
  return check
}

/**
 * Describes a setting's schema: `an integer of at least 0`, `one of sqlite, memory, postgres`. For error messages, help
 * and documentation.
 */
import type { SettingSchema } from './annotation.ts'

/** The values of a union of literals or an enum, or undefined for any other schema. */
export const choices = (schema: SettingSchema): readonly unknown[] | undefined => {
  if (schema.enum !== undefined) return schema.enum
  if (schema.const !== undefined) return [schema.const]
  const each = schema.anyOf?.map((one) => one.const)
  return each === undefined || each.includes(undefined) ? undefined : each
}

const FORMATS: Readonly<Record<string, string>> = {
  uri: 'a URL',
  url: 'a URL',
  'uri-reference': 'a URL',
  email: 'an e-mail address',
  hostname: 'a host name',
  ipv4: 'an IPv4 address',
  ipv6: 'an IPv6 address',
}

const numbers = (noun: string, schema: SettingSchema): string => {
  const { minimum, maximum, exclusiveMinimum, exclusiveMaximum, multipleOf } = schema
  const bounds: string[] = []
  if (minimum !== undefined && maximum !== undefined) bounds.push(`from ${minimum} to ${maximum}`)
  else if (minimum !== undefined) bounds.push(`of at least ${minimum}`)
  else if (maximum !== undefined) bounds.push(`of at most ${maximum}`)
  if (exclusiveMinimum !== undefined) bounds.push(`above ${exclusiveMinimum}`)
  if (exclusiveMaximum !== undefined) bounds.push(`below ${exclusiveMaximum}`)
  if (multipleOf !== undefined) bounds.push(`that is a multiple of ${multipleOf}`)
  return [noun, bounds.join(' and ')].filter((part) => part !== '').join(' ')
}

const strings = (schema: SettingSchema): string => {
  const noun =
    FORMATS[schema.format ?? ''] ?? (schema.format === undefined ? 'a string' : `a string of format ${schema.format}`)
  const bounds: string[] = []
  if (schema.minLength !== undefined && schema.maxLength !== undefined)
    bounds.push(`of ${schema.minLength} to ${schema.maxLength} characters`)
  else if (schema.minLength === 1) bounds.push('that is not empty')
  else if (schema.minLength !== undefined) bounds.push(`of at least ${schema.minLength} characters`)
  else if (schema.maxLength !== undefined) bounds.push(`of at most ${schema.maxLength} characters`)
  if (schema.pattern !== undefined)
    bounds.push(`matching ${schema.pattern instanceof RegExp ? schema.pattern.source : schema.pattern}`)
  return [noun, bounds.join(' and ')].filter((part) => part !== '').join(' ')
}

export const allowed = (schema: SettingSchema): string => {
  if (schema.allowed !== undefined) return schema.allowed
  const literals = choices(schema)
  if (literals !== undefined) return literals.length === 1 ? String(literals[0]) : `one of ${literals.join(', ')}`
  if (schema.anyOf !== undefined) return schema.anyOf.map(allowed).join(', or ')
  switch (schema.type) {
    case 'boolean':
      return 'true or false'
    case 'integer':
      return numbers('an integer', schema)
    case 'number':
      return numbers('a number', schema)
    case 'string':
      return strings(schema)
    case 'array':
      return schema.items === undefined ? 'an array' : `an array, each of it ${allowed(schema.items)}`
    case 'object':
      return 'a table'
    default:
      return 'another value'
  }
}

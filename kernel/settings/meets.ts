/** Whether a value meets the schema of a setting, by JSON Schema as TypeBox checks it. */
import { createRequire } from 'node:module'
import type { SettingSchema } from './annotation.ts'
import { isTable } from './layer.ts'

/** What a schema says beside what is checked. */
const NOTES = [
  'default',
  'description',
  'env',
  'flag',
  'flagSets',
  'implies',
  'flagValues',
  'secret',
  'fileForbidden',
  'sample',
  'allowed',
  'title',
]

const isNumber = (value: unknown): value is number => Number.isFinite(value)
const sizeOf = (text: string): number => [...text].length

type Check = (schema: SettingSchema, value: unknown) => boolean

/** A keyword about another type of value does not concern it, as in JSON Schema. */
const ofNumber =
  (isMet: (value: number | bigint, schema: SettingSchema) => boolean): Check =>
  (schema, value) =>
    (!isNumber(value) && typeof value !== 'bigint') || isMet(value, schema)
const ofText =
  (isMet: (value: string, schema: SettingSchema) => boolean): Check =>
  (schema, value) =>
    typeof value !== 'string' || isMet(value, schema)
const ofList =
  (isMet: (value: readonly unknown[], schema: SettingSchema) => boolean): Check =>
  (schema, value) =>
    !Array.isArray(value) || isMet(value, schema)

const TYPES: Readonly<Record<string, (value: unknown) => boolean>> = {
  array: Array.isArray,
  boolean: (value) => typeof value === 'boolean',
  integer: Number.isInteger,
  number: isNumber,
  object: isTable,
  string: (value) => typeof value === 'string',
}

const KEYWORDS: Readonly<Record<string, Check>> = {
  type: ({ type = '' }, value) => TYPES[type]?.(value) === true,
  const: (schema, value) => value === schema.const,
  enum: (schema, value) => schema.enum?.includes(value) === true,
  anyOf: ({ anyOf = [] }, value) => anyOf.some((one) => meets(one, value)),
  pattern: ofText((value, { pattern = '' }) =>
    typeof pattern === 'string' ? new RegExp(pattern, 'u').test(value) : pattern.test(value),
  ),
  minLength: ofText((value, { minLength = 0 }) => sizeOf(value) >= minLength),
  maxLength: ofText((value, { maxLength = 0 }) => sizeOf(value) <= maxLength),
  minimum: ofNumber((value, { minimum = 0 }) => value >= minimum),
  maximum: ofNumber((value, { maximum = 0 }) => value <= maximum),
  exclusiveMinimum: ofNumber((value, { exclusiveMinimum = 0 }) => value > exclusiveMinimum),
  exclusiveMaximum: ofNumber((value, { exclusiveMaximum = 0 }) => value < exclusiveMaximum),
  items: ofList((value, { items = {} }) => value.every((one) => meets(items, one))),
  minItems: ofList((value, { minItems = 0 }) => value.length >= minItems),
  maxItems: ofList((value, { maxItems = 0 }) => value.length <= maxItems),
}

const isPlain = (value: unknown): boolean => typeof value !== 'object' || value === null

/** Whether KEYWORDS say all that the schema asks. */
const isKnown = (schema: SettingSchema): boolean =>
  Object.entries(schema).every(([key, value]) => {
    if (key === 'type') return typeof value === 'string' && Object.hasOwn(TYPES, value)
    if (key === 'const') return isPlain(value)
    if (key === 'enum') return Array.isArray(value) && value.every(isPlain)
    if (key === 'anyOf') return (schema.anyOf ?? []).every(isKnown)
    if (key === 'items') return !Array.isArray(value) && isTable(value) && isKnown(value)
    return Object.hasOwn(KEYWORDS, key) || NOTES.includes(key)
  })

/** TypeBox's own check: hundreds of modules, for keywords that no setting of ours uses. */
const checkWithTypeBox = (schema: SettingSchema, value: unknown): boolean => {
  const load = createRequire(import.meta.url)
  const { Check } = load('typebox/schema') as typeof import('typebox/schema')
  return Check(schema as object, value)
}

export const meets = (schema: SettingSchema, value: unknown): boolean =>
  isKnown(schema)
    ? Object.entries(KEYWORDS).every(([key, isMet]) => !Object.hasOwn(schema, key) || isMet(schema, value))
    : checkWithTypeBox(schema, value)

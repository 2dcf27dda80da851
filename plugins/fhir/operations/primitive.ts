/**
 * Values of FHIR primitives, parsed from the text of a query, or as they are in JSON.
 * https://hl7.org/fhir/R4/datatypes.html
 */
import { readDateRange } from '../../model/service.ts'

const URI = /^\S+$/
const isText = (value: unknown): value is string => typeof value === 'string'
const matches =
  (pattern: RegExp) =>
  (value: unknown): boolean =>
    isText(value) && pattern.test(value)
const isSpan =
  (pattern: RegExp) =>
  (value: unknown): boolean =>
    isText(value) && pattern.test(value) && readDateRange(value) !== undefined
const isInteger =
  (least: number) =>
  (value: unknown): boolean =>
    Number.isInteger(value) && (value as number) >= least && (value as number) <= 2_147_483_647

/** Families of primitives: where a client writes the type of a value, any type of the family is accepted. */
const FAMILIES: readonly (readonly string[])[] = [
  ['string', 'code', 'uri', 'url', 'canonical', 'id', 'markdown', 'oid', 'uuid'],
  ['date', 'dateTime', 'instant'],
  ['integer', 'unsignedInt', 'positiveInt', 'decimal'],
]

const CHECKS: Readonly<Record<string, (value: unknown) => boolean>> = {
  boolean: (value) => typeof value === 'boolean',
  integer: isInteger(-2_147_483_648),
  unsignedInt: isInteger(0),
  positiveInt: isInteger(1),
  decimal: (value) => typeof value === 'number',
  string: (value) => isText(value) && value.trim() !== '',
  markdown: (value) => isText(value) && value.trim() !== '',
  code: matches(/^[^\s]+( [^\s]+)*$/),
  id: matches(/^[A-Za-z0-9\-.]{1,64}$/),
  uri: matches(URI),
  url: matches(URI),
  canonical: matches(URI),
  oid: matches(/^urn:oid:[0-2](\.(0|[1-9]\d*))+$/),
  uuid: matches(/^urn:uuid:[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/),
  base64Binary: matches(/^[A-Za-z0-9+/\s]*={0,2}\s*$/),
  date: isSpan(/^\d{4}(-\d\d){0,2}$/),
  dateTime: isSpan(/^\d{4}(-\d\d(-\d\d(T\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d))?)?)?$/),
  instant: isSpan(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/),
  time: matches(/^([01]\d|2[0-3]):[0-5]\d:([0-5]\d|60)(\.\d+)?$/),
}

export const isPrimitive = (type: string): boolean => Object.hasOwn(CHECKS, type)

/** True when a JSON value is valid for the type. */
export const isOfType = (type: string, value: unknown): boolean => CHECKS[type]?.(value) === true

/** Types that are accepted in place of `type`: `valueUri` for a canonical. */
export const spellingsOf = (type: string): readonly string[] =>
  FAMILIES.find((family) => family.includes(type)) ?? [type]

const NUMBER = /^-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?$/

/** Parses the text of a query as this type; undefined when it is not valid. */
export const readPrimitive = (type: string, text: string): unknown => {
  const isNumber = type === 'decimal' || (FAMILIES[2] as readonly string[]).includes(type)
  // In a query the plus sign of a time zone may arrive as a space.
  const plain = type === 'dateTime' || type === 'instant' ? text.replace(' ', '+') : text
  const value = type === 'boolean' ? { true: true, false: false }[text] : isNumber ? toNumber(text) : plain
  return isOfType(type, value) ? value : undefined
}

const toNumber = (text: string): number | undefined => (NUMBER.test(text) ? Number(text) : undefined)

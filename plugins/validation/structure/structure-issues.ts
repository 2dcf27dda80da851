/**
 * The functions that the generated code calls when it finds an error. They make faults with paths relative to one element; each
 * caller adds the name of its element in front. So no path is built for a valid resource.
 */
import { type IssueCode, withArticle } from '../../../kernel/index.ts'
import { ParsedWithNumberText } from './number-text.ts'
import { STRING_LIMIT } from './text.ts'

export interface StructureFault {
  readonly code: IssueCode
  readonly severity: 'error' | 'warning' | 'information'
  readonly text: string
  /** Relative to the element that is being checked, e.g. `.name[0].family`; '' for the element itself. */
  path: string
}

/** The faults found so far in an element; null if there are none. */
export type StructureFaults = StructureFault[] | null

/** Descriptions of the valid values of each primitive, for messages. */
const EXPECTED: Readonly<Record<string, string>> = {
  base64Binary: 'base64: groups of four characters of A-Z a-z 0-9 + / with = at the end',
  boolean: 'true or false',
  canonical: 'a URI without white space; after urn:uuid: or urn:oid: a valid one',
  code: 'a code: no white space at its ends, single spaces inside',
  date: 'an existing date YYYY, YYYY-MM or YYYY-MM-DD',
  dateTime: 'an existing date, or YYYY-MM-DDThh:mm:ss with a zone (Z or +hh:mm)',
  decimal: 'a number that is finite',
  'element-id': 'text without white space',
  id: '1 to 64 of the characters A-Z a-z 0-9 - .',
  instant: 'an existing YYYY-MM-DDThh:mm:ss with a zone (Z or +hh:mm)',
  integer: 'a whole number from -2147483648 to 2147483647, written without fraction or exponent',
  markdown: 'text of at most 1 MB',
  oid: 'urn:oid: and an object identifier',
  positiveInt: 'a whole number from 1 to 2147483647, written without fraction or exponent',
  reference: 'a URI without white space',
  'resource-id': '1 to 64 of the characters A-Z a-z 0-9 - ., and not . or ..',
  string: 'text of at most 1 MB',
  time: 'hh:mm:ss without a zone',
  unsignedInt: 'a whole number from 0 to 2147483647, written without fraction or exponent',
  uri: 'a URI without white space; after urn:uuid: or urn:oid: a valid one',
  url: 'a URI without white space; after urn:uuid: or urn:oid: a valid one',
  uuid: 'urn:uuid: and a lower-case UUID',
  xhtml: 'an XHTML div',
}

const JSON_TYPE: Readonly<Record<string, string>> = {
  boolean: 'boolean',
  decimal: 'number',
  integer: 'number',
  positiveInt: 'number',
  unsignedInt: 'number',
}

const NAME = /^[A-Za-z][A-Za-z0-9]{0,63}$/

const kindOf = (value: unknown): string => {
  if (value === null) return 'null'
  if (Array.isArray(value)) return value.length === 0 ? 'an empty array' : 'an array'
  if (value instanceof ParsedWithNumberText) return 'a number'
  if (typeof value === 'object') return Object.keys(value).length === 0 ? 'an empty object' : 'an object'
  return withArticle(typeof value)
}

/** A value as JSON for a message, shortened to 64 characters. */
export const quoted = (value: unknown): string => {
  const text = value instanceof ParsedWithNumberText ? value.source : (JSON.stringify(value) ?? String(value))
  return (text.length > 64 ? `${text.slice(0, 61)}...` : text).toWellFormed()
}

export interface StructureFaultFactory {
  /** Number of faults since the last reset, including those that were not listed because of the limit. */
  readonly found: number
  /** Starts a new validation. `limit`: maximum number of errors, and also of other faults, that are listed. */
  reset(limit: number): void
  /** Whether none of these faults is an error. Always false once the limit of errors is exceeded, as further ones are not listed. */
  mild(faults: StructureFault[]): boolean
  add(
    faults: StructureFaults,
    code: IssueCode,
    path: string,
    text: string,
    severity?: 'error' | 'warning' | 'information',
  ): StructureFault[]
  /** Puts `path` in front of the paths of the inner faults, and adds them to `faults`. */
  nest(faults: StructureFaults, inner: StructureFault[], path: string): StructureFault[]
  nestAt(faults: StructureFaults, inner: StructureFault[], path: string, index: number): StructureFault[]
  /** For a value that is not an object where one is expected. */
  notObject(value: unknown): StructureFault[]
  /** For an object without members, and for null and empty arrays. */
  empty(value: unknown): StructureFault[]
  notList(faults: StructureFaults, path: string, value: unknown): StructureFault[]
  tooMany(faults: StructureFaults, path: string, count: number, max: number): StructureFault[]
  unknown(faults: StructureFaults, object: object, name: string, type: string): StructureFault[]
  twice(faults: StructureFaults, path: string): StructureFault[]
  primitive(faults: StructureFaults, path: string, value: unknown, type: string): StructureFaults
  primitiveAt(faults: StructureFaults, path: string, index: number, value: unknown, type: string): StructureFaults
  missing(
    faults: StructureFaults,
    object: object,
    required: readonly (readonly [path: string, names: readonly string[]])[],
  ): StructureFaults
}

/** `formats[type]` tests whether a value of the right JSON type has the format of the primitive `type`. */
export const createStructureFaultFactory = (
  formats: Readonly<Record<string, (value: any) => boolean>>,
): StructureFaultFactory => {
  let errors = 0
  let remarks = 0
  let limit = 0

  // Errors and other faults are counted separately, so that warnings cannot displace the error that refuses a write.
  const add: StructureFaultFactory['add'] = (faults, code, path, text, severity = 'error') => {
    const list = faults ?? []
    const count = severity === 'error' ? ++errors : ++remarks
    if (count <= limit) list.push({ code, severity, text, path })
    return list
  }

  const nest: StructureFaultFactory['nest'] = (faults, inner, path) => {
    for (const fault of inner) fault.path = path + fault.path
    if (faults === null) return inner
    for (const fault of inner) faults.push(fault)
    return faults
  }

  const primitive: StructureFaultFactory['primitive'] = (faults, path, value, type) => {
    const wanted = JSON_TYPE[type] ?? 'string'
    // A number spelled like 1.0 or 1e2 is a valid decimal, but not a valid integer.
    if (value instanceof ParsedWithNumberText) {
      if (type === 'decimal') return faults
      if (wanted === 'number') return add(faults, 'value', path, `${quoted(value)} is not ${EXPECTED[type]}`)
    }
    if (typeof value !== wanted) {
      const article = Array.isArray(value) ? 'a single ' : 'a '
      return add(faults, 'structure', path, `this is ${kindOf(value)} where ${article}${wanted} is expected`)
    }
    if (value === '') return add(faults, 'value', path, 'an empty string is no value; leave the element out')
    if (typeof value === 'string' && value.length > STRING_LIMIT && type !== 'base64Binary') {
      return add(
        faults,
        'too-long',
        path,
        `${value.length} characters are more than the ${STRING_LIMIT} a string may have`,
      )
    }
    const expected = EXPECTED[type]
    if (formats[type]?.(value) === true) return faults
    return add(
      faults,
      'value',
      path,
      expected === undefined
        ? `${quoted(value)} is not a valid ${type}`
        : `${quoted(value)} is not a valid ${type.replace(/^.*-/, '')}: expected is ${expected}`,
    )
  }

  return {
    get found() {
      return errors + remarks
    },
    reset(most) {
      errors = 0
      remarks = 0
      limit = most
    },
    // Errors above the limit are missing from the lists, so then a list without errors proves nothing.
    mild: (faults) => errors <= limit && faults.every(({ severity }) => severity !== 'error'),
    add,
    nest,
    nestAt: (faults, inner, path, index) => nest(faults, inner, `${path}[${index}]`),
    notObject: (value) => add(null, 'structure', '', `this is ${kindOf(value)} where a single object is expected`),
    empty: (value) =>
      value === null || Array.isArray(value)
        ? add(null, 'structure', '', `this is ${kindOf(value)} where a single object is expected`)
        : add(null, 'structure', '', 'an object without members is no value; leave the element out'),
    notList: (faults, path, value) =>
      Array.isArray(value)
        ? add(faults, 'structure', path, 'an array without items is no value; leave the element out')
        : add(faults, 'structure', path, `this is ${kindOf(value)} where an array is expected`),
    tooMany: (faults, path, count, max) =>
      add(faults, 'structure', path, `${count} are given, but at most ${max} are allowed`),
    unknown: (faults, _object, name, type) =>
      add(
        faults,
        'structure',
        NAME.test(name) ? `.${name}` : '',
        `${quoted(name)} is not an element of ${type}; element names are case-sensitive`,
      ),
    twice: (faults, path) => add(faults, 'structure', path, `more than one type of ${path.slice(1)}[x] is given`),
    primitive,
    primitiveAt: (faults, path, index, value, type) => primitive(faults, `${path}[${index}]`, value, type),
    missing(faults, object, required) {
      let list = faults
      for (const [path, names] of required) {
        if (!names.some((name) => Object.hasOwn(object, name))) {
          list = add(list, 'required', path, `the element ${path.slice(1)} is required`)
        }
      }
      return list
    },
  }
}

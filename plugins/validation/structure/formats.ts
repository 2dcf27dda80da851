/** Tests of the values of primitive types. */
import {
  type DefinitionSource,
  isDate,
  isDateTime,
  isInstant,
  isTime,
  type StructureDefinition,
  typeUrl,
} from '../../model/service.ts'
import {
  isBase64,
  isCode,
  isElementId,
  isIdFormat,
  isOid,
  isReference,
  isResourceId,
  isText,
  isUri,
  isUuid,
} from './text.ts'

const isInteger = (least: number) => (value: number) => Number.isInteger(value) && value >= least && value <= 2147483647

const FORMATS: Readonly<Record<string, (value: any) => boolean>> = {
  base64Binary: isBase64,
  boolean: () => true,
  canonical: isUri,
  code: isCode,
  date: isDate,
  dateTime: isDateTime,
  decimal: Number.isFinite,
  'element-id': isElementId,
  id: isIdFormat,
  instant: isInstant,
  integer: isInteger(-2147483648),
  markdown: isText,
  oid: isOid,
  positiveInt: isInteger(1),
  reference: isReference,
  'resource-id': isResourceId,
  string: isText,
  time: isTime,
  unsignedInt: isInteger(0),
  uri: isUri,
  url: isUri,
  uuid: isUuid,
  xhtml: () => true,
}

const REGEX = 'http://hl7.org/fhir/StructureDefinition/regex'

/** Makes the check of a primitive that FORMATS lacks from its definition. Always false if there is no definition. */
const primitiveCheck = (definition: StructureDefinition | null | undefined): ((value: unknown) => boolean) => {
  const type = definition?.snapshot?.element.find(({ path }) => path.endsWith('.value'))?.type?.[0]
  if (type === undefined) return () => false
  const json = { Boolean: 'boolean', Integer: 'number', Decimal: 'number' }[type.code.split('.').at(-1)!] ?? 'string'
  const pattern = type.extension?.find(({ url }) => url === REGEX)?.valueString
  const regex = typeof pattern === 'string' ? new RegExp(`^(?:${pattern})$`, 'u') : undefined
  return (value) => typeof value === json && (regex?.test(String(value)) ?? true) && (value !== '' || json !== 'string')
}

export interface Formats {
  /** The tests by type. Has no prototype. A type that was tested with `other` is added. */
  readonly tests: Readonly<Record<string, (value: any) => boolean>>
  /**
   * Tests a value of a primitive type that has no test of its own here, by its definition. False if that is not loaded or not
   * installed.
   */
  other(name: string, value: unknown): boolean
}

export const createFormats = (source: DefinitionSource): Formats => {
  const others = new Map<string, (value: unknown) => boolean>()
  const tests = Object.assign(Object.create(null), FORMATS)

  const other = (name: string, value: unknown): boolean => {
    let check = others.get(name)
    if (check === undefined) {
      const definition = source.definition(typeUrl(name))
      check = primitiveCheck(definition)
      if (definition === null || definition === undefined) return false
      others.set(name, check)
      tests[name] = check
    }
    return check(value)
  }

  return { tests, other }
}

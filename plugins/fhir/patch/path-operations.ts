/** Reads the operations of a FHIRPath Patch from its Parameters. https://hl7.org/fhir/R4/fhirpatch.html */
import { decimalText, isObject } from '../../model/service.ts'
import { PatchMalformed, PatchTooLarge } from './errors.ts'
import { MAX_OPERATIONS } from './json-patch.ts'

export type Exact = Record<string, unknown>

const KINDS = ['add', 'insert', 'delete', 'replace', 'move'] as const

export interface PathOperation {
  readonly kind: (typeof KINDS)[number]
  readonly path: string
  readonly name: string
  readonly index: number
  readonly source: number
  readonly destination: number
  /** The part `value`: value[x], a resource, or parts. */
  readonly value: Exact | undefined
}

const NEEDS: Readonly<Record<PathOperation['kind'], readonly string[]>> = {
  add: ['path', 'name', 'value'],
  insert: ['path', 'index', 'value'],
  delete: ['path'],
  replace: ['path', 'value'],
  move: ['path', 'source', 'destination'],
}
const PARTS = new Set(['type', 'path', 'name', 'index', 'source', 'destination', 'value'])

/** The parameters or parts in `holder[key]`; undefined when it is not a list of named objects. */
export const partsOf = (holder: Exact, key: string): readonly Exact[] | undefined => {
  const list = holder[key]
  return Array.isArray(list) && list.every((one) => isObject(one) && typeof one.name === 'string')
    ? (list as Exact[])
    : undefined
}

/** The name of the member value[x], such as `valueString`; undefined when there is none. */
export const valueKey = (part: Exact): string | undefined => Object.keys(part).find((key) => /^value[A-Z]/.test(key))

const readOperation = (parameter: Exact, at: number): PathOperation => {
  const malformed = (why: string) =>
    PatchMalformed(`operation ${at} ${why}`).with({ expression: [`Parameters.parameter[${at}]`] })
  if (parameter.name !== 'operation') throw malformed('is a parameter of another name than "operation"')
  const parts = partsOf(parameter, 'part')
  if (parts === undefined) throw malformed('has no parts')
  const given = new Map<string, Exact>()
  for (const part of parts) {
    const name = part.name as string
    if (!PARTS.has(name)) throw malformed(`has the part "${name.slice(0, 64)}", which is not known`)
    if (given.has(name)) throw malformed(`has the part "${name}" twice`)
    given.set(name, part)
  }
  const textOf = (name: string): string | undefined => {
    const part = given.get(name)
    const key = part === undefined ? undefined : valueKey(part)
    const value = key === undefined ? undefined : part?.[key]
    if (part !== undefined && (typeof value !== 'string' || value === '')) throw malformed(`has no text as ${name}`)
    return value as string | undefined
  }
  const numberOf = (name: string): number => {
    const part = given.get(name)
    const digits = part === undefined ? '0' : decimalText(part[valueKey(part) ?? ''])
    if (digits === undefined || !/^\d{1,9}$/.test(digits)) throw malformed(`has no index as ${name}`)
    return Number(digits)
  }
  const kind = textOf('type') as PathOperation['kind'] | undefined
  if (kind === undefined || !KINDS.includes(kind)) throw malformed(`has a type that is none of ${KINDS.join(', ')}`)
  for (const name of NEEDS[kind]) if (!given.has(name)) throw malformed(`has no part "${name}"`)
  return {
    kind,
    path: textOf('path') as string,
    name: textOf('name') ?? '',
    index: numberOf('index'),
    source: numberOf('source'),
    destination: numberOf('destination'),
    value: given.get('value'),
  }
}

/** Throws 400 for anything but a FHIRPath Patch, 413 for too many operations. `value` is the result of parseExact. */
export const readPathPatch = (value: unknown): readonly PathOperation[] => {
  if (!isObject(value) || value.resourceType !== 'Parameters')
    throw PatchMalformed('in FHIR JSON it is a Parameters resource')
  const parameters = value.parameter === undefined ? [] : partsOf(value, 'parameter')
  if (parameters === undefined) throw PatchMalformed('its parameters are a list of objects with names')
  if (parameters.length > MAX_OPERATIONS)
    throw PatchTooLarge(`it has ${parameters.length} operations, at most ${MAX_OPERATIONS} are taken`)
  return parameters.map(readOperation)
}

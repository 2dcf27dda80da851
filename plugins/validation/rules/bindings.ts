/**
 * Required bindings, for value sets whose codes are all known.
 * https://hl7.org/fhir/R4/terminologies.html#required
 */
import { shown } from '../structure/faults.ts'
import type { KnownCodes } from './value-set.ts'

const isCoded = (value: unknown): value is { code?: string; system?: string } =>
  typeof value === 'object' && value !== null

const holdsCoding = (codes: KnownCodes, coding: unknown): boolean =>
  isCoded(coding) &&
  typeof coding.code === 'string' &&
  typeof coding.system === 'string' &&
  codes.has(coding.code, coding.system)

type Test = (codes: KnownCodes, value: any) => boolean

const TESTS: Readonly<Record<string, Test>> = {
  code: (codes, value) => codes.has(value),
  string: (codes, value) => codes.has(value),
  uri: (codes, value) => codes.has(value),
  Coding: holdsCoding,
  CodeableConcept: (codes, value) =>
    Array.isArray(value.coding) && value.coding.some((coding: unknown) => holdsCoding(codes, coding)),
  Quantity: (codes, value) => value.code === undefined || codes.has(value.code, value.system),
}

/** Whether a value of that type is one of the codes; undefined for a type that takes no binding. */
export const bindingTest = (type: string): Test | undefined => (Object.hasOwn(TESTS, type) ? TESTS[type] : undefined)

const codeOf = ({ system, code }: { readonly code?: string; readonly system?: string }): string => {
  if (code === undefined) return system === undefined ? 'a coding without system and code' : `${system} without a code`
  return system === undefined ? `${code} without a system` : `${system}#${code}`
}

/** A coded value for a message: its code with its system, its codings, or what it has instead of them. */
export const codedText = (value: any): string => {
  if (typeof value === 'string') return shown(value)
  if (Array.isArray(value.coding)) return shown(value.coding.map(codeOf).join(', '))
  if (value.system !== undefined || value.code !== undefined) return shown(codeOf(value))
  return typeof value.text === 'string' ? `the text ${shown(value.text)} without a coding` : 'a value without a coding'
}

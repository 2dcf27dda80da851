/**
 * Required bindings, for value sets whose codes are all known.
 * https://hl7.org/fhir/R4/terminologies.html#required
 */
import { quoted } from '../structure/structure-issues.ts'
import type { BoundCodes } from './value-set.ts'

const isCoded = (value: unknown): value is { code?: string; system?: string } =>
  typeof value === 'object' && value !== null

const holdsCoding = (codes: BoundCodes, coding: unknown): boolean =>
  isCoded(coding) &&
  typeof coding.code === 'string' &&
  typeof coding.system === 'string' &&
  codes.has(coding.code, coding.system)

type Test = (codes: BoundCodes, value: any) => boolean

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

const codingOf = ({ system, code }: { readonly code?: string; readonly system?: string }): string => {
  if (code === undefined) return system === undefined ? 'a coding without system and code' : `${system} without a code`
  return system === undefined ? `${code} without a system` : `${system}#${code}`
}

/** A coded value for a message: its code with its system, its codings, or what it has instead of them. */
export const codedText = (value: any): string => {
  if (typeof value === 'string') return quoted(value)
  if (Array.isArray(value.coding)) return quoted(value.coding.map(codingOf).join(', '))
  if (value.system !== undefined || value.code !== undefined) return quoted(codingOf(value))
  return typeof value.text === 'string' ? `the text ${quoted(value.text)} without a coding` : 'a value without a coding'
}

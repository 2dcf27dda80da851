/**
 * Checks coded values against value sets whose codes are all known.
 * https://hl7.org/fhir/R4/terminologies.html#required
 */
import { quoted } from '../structure/structure-issues.ts'
import type { BoundCodes } from './system-codes.ts'

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

/** The test for whether a value of this type is in a value set; undefined for a type that cannot have a binding. */
export const bindingTest = (type: string): Test | undefined => (Object.hasOwn(TESTS, type) ? TESTS[type] : undefined)

const codingOf = ({ system, code }: { readonly code?: string; readonly system?: string }): string => {
  if (code === undefined) return system === undefined ? 'a coding without system and code' : `${system} without a code`
  return system === undefined ? `${code} without a system` : `${system}#${code}`
}

/** Describes a coded value in a message: its code and system, its codings, or its text if it has none. */
export const codedText = (value: any): string => {
  if (typeof value === 'string') return quoted(value)
  if (Array.isArray(value.coding)) return quoted(value.coding.map(codingOf).join(', '))
  if (value.system !== undefined || value.code !== undefined) return quoted(codingOf(value))
  return typeof value.text === 'string' ? `the text ${quoted(value.text)} without a coding` : 'a value without a coding'
}

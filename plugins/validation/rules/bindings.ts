/**
 * Required bindings, for value sets whose codes are all known.
 * https://hl7.org/fhir/R4/terminologies.html#required
 */
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

/** The code of a value, for a message. */
export const codeOf = (value: any): string => {
  if (typeof value === 'string') return value
  const codings: readonly { code?: string; system?: string }[] = Array.isArray(value.coding) ? value.coding : [value]
  return codings.map(({ system, code }) => `${system ?? ''}#${code ?? ''}`).join(', ') || 'nothing'
}

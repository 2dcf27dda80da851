/**
 * Refuses two inputs of an operation that contradict each other: using one and ignoring the other would answer another
 * question.
 */
import { InputsContradict } from '../errors.ts'

const MAX_CHARACTERS = 200

/** The name of an input, and its value; an undefined value contradicts nothing. */
export type Said = readonly [about: string, value: string | undefined]

/** Throws 400 when both have a value and the values differ. */
export const refuseContradiction = (operation: string, [about, value]: Said, [other, expected]: Said): void => {
  if (value === undefined || expected === undefined || value === expected) return
  throw InputsContradict(operation, about, value.slice(0, MAX_CHARACTERS), other, expected.slice(0, MAX_CHARACTERS))
}

/** Two inputs of an operation that name the same thing must agree: taking one and ignoring the other answers another question. */
import { InputsContradict } from '../errors.ts'

const MAX_CHARACTERS = 200

/** What says it, and what it says; undefined says nothing. */
export type Said = readonly [about: string, value: string | undefined]

/** Throws 400 when both say something and not the same. */
export const refuseContradiction = (operation: string, [about, value]: Said, [other, expected]: Said): void => {
  if (value === undefined || expected === undefined || value === expected) return
  throw InputsContradict(operation, about, value.slice(0, MAX_CHARACTERS), other, expected.slice(0, MAX_CHARACTERS))
}

/** Names that are told apart byte by byte while a text is scanned, so that no string is made of them. */

import { Buffer } from 'node:buffer'

export interface Names {
  /** The state after a byte: `next[(state << 8) | byte]`, from 0; 0 when no name goes on like that. */
  readonly next: Uint16Array
  /** The name that ends in a state. */
  readonly ends: readonly (string | undefined)[]
}

/** Names of ASCII. */
export const createNameSet = (names: readonly string[]): Names => {
  const states: Map<number, number>[] = [new Map()]
  const ends: (string | undefined)[] = [undefined]
  for (const name of names) {
    let state = 0
    for (const byte of Buffer.from(name, 'latin1')) {
      let after = states[state]!.get(byte)
      if (after === undefined) {
        after = states.push(new Map()) - 1
        ends.push(undefined)
        states[state]!.set(byte, after)
      }
      state = after
    }
    ends[state] = name
  }
  const next = new Uint16Array(states.length << 8)
  for (const [state, following] of states.entries())
    for (const [byte, after] of following) next[(state << 8) | byte] = after
  return { next, ends }
}

/** The state a name ends in. */
export const stateOf = ({ ends }: Names, name: string): number => ends.indexOf(name)

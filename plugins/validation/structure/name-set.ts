/** A finite automaton that recognizes names byte by byte while a text is scanned, so that no strings are made. */

import { Buffer } from 'node:buffer'

export interface Names {
  /** The state after a byte is `next[(state << 8) | byte]`. State 0 is the start; as a result, 0 means that no name continues so. */
  readonly next: Uint16Array
  /** By state: the name that is complete in it, or undefined. */
  readonly ends: readonly (string | undefined)[]
}

/** `names` must be ASCII. */
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

/** The state in which a name is complete; -1 if the set does not have it. */
export const stateOf = ({ ends }: Names, name: string): number => ends.indexOf(name)

/**
 * Several sides in short turns, for ratios of a few percent: many rounds, each of them with one turn of every side, in an
 * order that changes from round to round, so that no side has more of what the one before it left behind.
 */
import { type Interval, medianInterval } from './median-interval.ts'

/** All orders of three sides come equally often in six rounds, and both of two sides in two. */
export const orderOf = <T>(sides: readonly T[], round: number): readonly T[] => {
  const from = Math.floor(round / 2) % sides.length
  const turned = [...sides.slice(from), ...sides.slice(0, from)]
  return round % 2 === 0 ? turned : turned.toReversed()
}

export interface Interleaved<Name extends string, Measured> {
  /** Turns of a side, by round. */
  readonly turns: Readonly<Record<Name, readonly Measured[]>>
  /** The median of the ratios of one side to another in the same round. */
  ratio(one: Name, other: Name, measured: keyof Measured): Interval
}

/** `between` runs before each round, and is not measured. */
export const interleave = async <Name extends string, Measured extends { readonly [Key in keyof Measured]: number }>(
  rounds: number,
  sides: Readonly<Record<Name, () => Promise<Measured>>>,
  between: (round: number) => Promise<void>,
): Promise<Interleaved<Name, Measured>> => {
  const names = Object.keys(sides) as Name[]
  const turns = Object.fromEntries(names.map((name) => [name, [] as Measured[]])) as Record<Name, Measured[]>
  for (let round = 0; round < rounds; round += 1) {
    await between(round)
    for (const name of orderOf(names, round)) turns[name].push(await sides[name]())
  }
  return {
    turns,
    ratio: (one, other, measured) =>
      medianInterval(turns[one].map((turn, round) => turn[measured] / (turns[other][round] as Measured)[measured])),
  }
}

/** Two sides in turns, A B A B: what disturbs the machine for a while disturbs both. */

export interface Round {
  readonly perSecond: number
  /** CPU time of the measured process per request, in microseconds, all threads. */
  readonly cpu: number
  /** Share of a core it used. Well below 1 it waited for the load, the disk or another process. */
  readonly busy: number
}

export interface Spread {
  readonly median: number
  readonly least: number
  readonly most: number
}

export interface Comparison {
  /** Of the per-round ratios. */
  readonly speed: Spread
  readonly cpu: Spread
  /** Medians of the rounds. */
  readonly ours: Round
  readonly others: Round
}

export const median = (values: readonly number[]): number => {
  const sorted = values.toSorted((one, other) => one - other)
  const middle = Math.floor(sorted.length / 2)
  const upper = sorted[middle] ?? Number.NaN
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? Number.NaN) + upper) / 2
}

export const spreadOf = (values: readonly number[]): Spread => ({
  median: median(values),
  least: Math.min(...values),
  most: Math.max(...values),
})

const medianOf = (rounds: readonly Round[]): Round => ({
  perSecond: median(rounds.map(({ perSecond }) => perSecond)),
  cpu: median(rounds.map(({ cpu }) => cpu)),
  busy: median(rounds.map(({ busy }) => busy)),
})

/** `rounds` rounds of each side in turns. The ratios are ours divided by the other's of the same round. */
export const compare = async (
  rounds: number,
  ours: () => Promise<Round>,
  other: () => Promise<Round>,
): Promise<Comparison> => {
  const pairs: { readonly one: Round; readonly two: Round }[] = []
  for (let n = 0; n < rounds; n += 1) {
    const one = await ours()
    pairs.push({ one, two: await other() })
  }
  return {
    speed: spreadOf(pairs.map(({ one, two }) => one.perSecond / two.perSecond)),
    cpu: spreadOf(pairs.map(({ one, two }) => one.cpu / two.cpu)),
    ours: medianOf(pairs.map(({ one }) => one)),
    others: medianOf(pairs.map(({ two }) => two)),
  }
}

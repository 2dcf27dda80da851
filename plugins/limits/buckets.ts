/**
 * Token buckets, one for each caller: `tokens = min(burst, tokens + time * rate)`, and a request passes when its cost is
 * there. Time is monotonic, so that setting the clock neither fills a bucket nor empties it.
 */

/** Cost units per second, and most at once. */
export interface Rate {
  readonly perSecond: number
  readonly burst: number
}

export interface Withdrawal {
  /** 0 when the cost was taken; else milliseconds until it will be there, and nothing was taken. */
  readonly waitMs: number
  /** What is left. */
  readonly tokens: number
}

export interface Buckets {
  take(key: string, rate: Rate, cost: number): Withdrawal
  /** What was taken for a request that something else refused. */
  giveBack(key: string, cost: number): void
  readonly size: number
}

const LOOKED_AT = 8 // buckets that are looked at to find room for one
const ROUNDING = 1e-9 // after exactly the time it was told to wait a caller passes

/**
 * `time` in milliseconds only grows. `most` buckets are kept: full ones go first, since a full one is as good as none.
 * They lie in columns, so that a million addresses leave no million objects behind.
 */
export const createBuckets = (time: () => number, most: number): Buckets => {
  const rows = new Map<string, number>()
  const keys: string[] = []
  const rates: Rate[] = []
  const tokens = new Float64Array(most)
  /** When the tokens were reckoned, in milliseconds of `time`. */
  const reckoned = new Float64Array(most)
  let hand = 0

  const tokensAt = (row: number, now: number): number => {
    const { burst, perSecond } = rates[row] as Rate
    return Math.min(burst, (tokens[row] as number) + ((now - (reckoned[row] as number)) * perSecond) / 1000)
  }
  /** The row of the fullest of the next few. Each call goes on where the last one ended, so what is full is found in time. */
  const makeRoom = (now: number): number => {
    let fullest = hand
    let share = Number.NEGATIVE_INFINITY
    for (let looked = 0; looked < LOOKED_AT && share < 1; looked += 1) {
      const own = tokensAt(hand, now) / (rates[hand] as Rate).burst
      if (own > share) {
        fullest = hand
        share = own
      }
      hand = (hand + 1) % most
    }
    rows.delete(keys[fullest] as string)
    return fullest
  }
  const rowOf = (key: string, rate: Rate, now: number): number => {
    const known = rows.get(key)
    if (known !== undefined) return known
    const row = rows.size < most ? rows.size : makeRoom(now)
    rows.set(key, row)
    keys[row] = key
    rates[row] = rate
    tokens[row] = rate.burst
    reckoned[row] = now
    return row
  }
  return {
    take(key, rate, cost) {
      const now = time()
      const row = rowOf(key, rate, now)
      // Reckoned with the rate that holds now: another server may have come or gone.
      rates[row] = rate
      const left = tokensAt(row, now)
      reckoned[row] = now
      // A part of a shared burst may be less than one dear request: then a full bucket goes below nothing.
      const missing = Math.min(cost, rate.burst) - left
      const waitMs = missing > ROUNDING ? (missing / rate.perSecond) * 1000 : 0
      tokens[row] = waitMs === 0 ? left - cost : left
      return { waitMs, tokens: tokens[row] as number }
    },
    giveBack(key, cost) {
      const row = rows.get(key)
      if (row !== undefined) tokens[row] = (tokens[row] as number) + cost
    },
    get size() {
      return rows.size
    },
  }
}

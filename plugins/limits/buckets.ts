/**
 * Token buckets, one for each caller: `tokens = min(burst, tokens + time * rate)`, and a request passes if the bucket
 * holds its cost. Time is monotonic, so that setting the clock neither fills nor empties a bucket.
 */

/** Cost units per second, and the size of the bucket in cost units. */
export interface Rate {
  readonly perSecond: number
  readonly burst: number
}

export interface Withdrawal {
  /**
   * 0 when the cost was taken; otherwise nothing was taken, and the cost will be available after so many milliseconds.
   */
  readonly waitMs: number
  /** Tokens that are left. */
  readonly tokens: number
}

export interface Buckets {
  take(key: string, rate: Rate, cost: number): Withdrawal
  /** Returns the cost of a request that was refused for another reason. */
  giveBack(key: string, cost: number): void
  readonly size: number
}

const LOOKED_AT = 8 // buckets compared to find one to replace
const ROUNDING = 1e-9 // so that a caller that waited exactly `waitMs` passes

/**
 * `time` in milliseconds never decreases. At most `most` buckets are stored: full ones are replaced first, because a
 * new bucket is full as well. They are stored in columns, so that a million addresses do not create a million objects.
 */
export const createBuckets = (time: () => number, most: number): Buckets => {
  const rows = new Map<string, number>()
  const keys: string[] = []
  const rates: Rate[] = []
  const tokens = new Float64Array(most)
  /** Time at which the tokens of each row were calculated, in milliseconds of `time`. */
  const reckoned = new Float64Array(most)
  let hand = 0

  const tokensAt = (row: number, now: number): number => {
    const { burst, perSecond } = rates[row] as Rate
    return Math.min(burst, (tokens[row] as number) + ((now - (reckoned[row] as number)) * perSecond) / 1000)
  }
  /**
   * The row of the fullest of the next few buckets. Each call continues where the last one ended, so that all buckets
   * are compared in turn.
   */
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
      // Calculated with the current rate, which changes when a server joins or leaves.
      rates[row] = rate
      const left = tokensAt(row, now)
      reckoned[row] = now
      // This server's part of a burst may be less than the cost of one request: then a full bucket goes below zero.
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

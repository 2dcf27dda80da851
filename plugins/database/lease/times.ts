/**
 * Times of the writer lease, in milliseconds on monotonic clocks. No two clocks are compared: a holder measures since it
 * sent a beat, a taker since it saw the beat change.
 */
export interface Times {
  /** Between two beats of the holder. */
  readonly beat: number
  /** The holder answers only for so long after it sent the last confirmed beat. */
  readonly valid: number
  /** A taker that has the lock waits until the beat was unchanged for so long: a tenth more, as clocks differ in speed. */
  readonly grace: number
  /** A beat that was unchanged for so long means that the holder is frozen or cut off: its lock is taken away. */
  readonly lease: number
  /** Between two looks of a taker. */
  readonly poll: number
  /** For the answer to one statement; then its session is closed. */
  readonly answer: number
  /** A wall clock that ran so much longer than the monotonic one means that the machine was suspended. */
  readonly suspended: number
}

export const TIMES: Times = Object.freeze({
  beat: 1_000,
  valid: 4_000,
  grace: 4_400,
  lease: 8_000,
  poll: 500,
  answer: 2_000,
  suspended: 2_000,
})

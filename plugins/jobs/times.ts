/**
 * Times of jobs, in milliseconds. No clocks of two servers are compared: a worker measures since its last confirmed beat,
 * another server since it saw the beat change. Spec: Other constants.
 */
export interface Times {
  /** A beat that was unchanged for so long: the job may be taken over. */
  readonly lease: number
  /** A worker without a confirmed beat for so long stops itself. */
  readonly trust: number
  readonly beat: number
  /** How often a worker looks at the age of its last beat. */
  readonly check: number
  /** How often a server looks for jobs. */
  readonly look: number
  readonly clean: number
  /** For which a job and its files are kept after its end. */
  readonly kept: number
}

export const TIMES: Times = Object.freeze({
  lease: 30_000,
  trust: 20_000,
  beat: 3_000,
  check: 1_000,
  look: 3_000,
  clean: 60_000,
  kept: 86_400_000,
})

export const MAX_STARTS = 3 // spec

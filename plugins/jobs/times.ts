/**
 * Times of jobs. No clocks of two servers are compared: a worker measures since its last confirmed beat, another server
 * since it saw the beat change. Spec: Other constants.
 */
export const LEASE_MS = 30_000 // a beat that was unchanged for so long: the job may be taken over
export const TRUST_MS = 20_000 // a worker without a confirmed beat for so long stops itself
export const BEAT_MS = 3_000
export const CHECK_MS = 1_000 // how often a worker looks at the age of its last beat
export const LOOK_MS = 3_000 // how often a server looks for jobs
export const CLEAN_MS = 60_000
export const KEPT_MS = 86_400_000 // a job and its files after its end
export const MAX_STARTS = 3 // spec

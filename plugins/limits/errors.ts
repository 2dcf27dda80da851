/** Errors for callers over a limit, and for limits that would let no request pass. */
import { defineError } from '../../kernel/index.ts'

export const RateLimited = defineError(
  'limits/rate-limited',
  429,
  'throttled',
  'Too many requests: this one costs %s of the units that come back at %s per second. Try again in %s {second|seconds}.',
)
export const QuotaUsed = defineError(
  'limits/quota-used',
  429,
  'throttled',
  'The quota of %s in a UTC %s is used up. It begins anew in %s {second|seconds}.',
)
export const AuthFailures = defineError(
  'limits/auth-failures',
  429,
  'throttled',
  'Too many unknown tokens came from this address: no other is looked up for %s {second|seconds}.',
)
export const SyncConnections = defineError(
  'limits/sync-connections',
  429,
  'throttled',
  'This caller holds %s {connection|connections} to /sync, which is all it may; close one first.',
)
export const LiveQueries = defineError(
  'limits/live-queries',
  429,
  'throttled',
  'This connection holds %s {live query|live queries}, which is all it may; end one first.',
)
export const BurstSmall = defineError(
  'limits/burst-small',
  500,
  'exception',
  '[%s] %s = %s is less than the dearest cost, [rate_limit.cost] %s = %s; such a request could never pass. Raise the one or lower the other.',
)

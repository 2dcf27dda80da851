/** Takes the writer lease of a PostgreSQL database and holds it. */
import { systemClock } from '../../../kernel/index.ts'
import { createCommitOrder } from '../feed/commit-order.ts'
import { type HeldLease, holdLease } from '../lease/hold-lease.ts'
import type { LeaseRow } from '../lease/lease-port.ts'
import { isProcessGone, ownProcess } from '../lease/own-process.ts'
import { type LeaseParts, takeLease } from '../lease/take-lease.ts'
import { createTenure } from '../lease/tenure.ts'
import { TIMES } from '../lease/times.ts'
import type { OpenOptions } from '../opening.ts'
import type { Connector } from './client.ts'
import { createLeaseSession } from './lease-session.ts'

/** In words, for the log. */
const describe = (row: LeaseRow | undefined): string =>
  row === undefined || row.pid === 0 ? 'another process that is starting' : `process ${row.pid} on ${row.host}`

/** Undefined when another process has it and a command would have to wait, or where no lease is wanted. */
export const takeWriterLease = async (
  connector: Connector,
  { lease, feed, random, build, log }: OpenOptions,
  signal?: AbortSignal,
): Promise<HeldLease | undefined> => {
  if (lease.mode === 'none' || lease.mode === 'read') return undefined
  // Held against other processes, whose time a test does not move.
  const clock = systemClock
  const self = ownProcess(random.id(), build)
  const parts: LeaseParts = {
    self,
    isGone: isProcessGone(self),
    clock,
    times: TIMES,
    log,
    tenure: createTenure(clock, TIMES),
    async connect(given) {
      const session = await connector.connect(given)
      return createLeaseSession({ session, clock, times: TIMES, newTerm: () => random.id() })
    },
  }
  const waits = lease.mode === 'wait'
  const won = await takeLease(parts, { signal, waits, onWait: (row) => waits && lease.onWait(describe(row)) })
  if (won === undefined) return undefined
  lease.onTaken()
  const commits = createCommitOrder({
    publish(commit) {
      feed.commit(commit)
      held.announce(commit)
    },
    gap(at) {
      feed.gap(at)
      held.announce(at)
    },
  })
  const held = holdLease(parts, won, commits, lease.onLost)
  return held
}

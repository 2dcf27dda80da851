/**
 * A pool of at most `size` sessions, each leased to one borrower at a time. pg's own pool reports a failed connection
 * to the borrower that happened to start it, connects again immediately for the next one, and has no bound on its
 * queue. Here an unreachable server is retried at growing intervals, and nobody waits longer than the deadline.
 */
import type { Logger } from '../../../kernel/index.ts'
import { DatabaseUnavailable } from '../errors.ts'
import type { Connector } from './client.ts'
import { PoolClosed, PoolExhausted } from './errors.ts'
import { createLentSessions } from './lent-sessions.ts'
import type { AcquireOptions, Lease } from './loan.ts'
import { createRetirement } from './retirement.ts'
import type { Session } from './session.ts'
import { createSessionGrowth, FIRST_PAUSE_MS, LONGEST_PAUSE_MS } from './session-growth.ts'
import { createSessionWaiters } from './session-waiters.ts'

export interface PoolOptions {
  readonly connector: Connector
  /** [cluster] db_pool. */
  readonly size: number
  /** Borrowers that may wait; the next one is refused at once. */
  readonly queue: number
  /** How long a borrower waits. */
  readonly waitMs: number
  readonly log: Logger
  /** Milliseconds on a clock that never goes back. */
  readonly now?: () => number
}

export interface PoolStatus {
  readonly size: number
  readonly open: number
  readonly idle: number
  readonly waiting: number
}

export interface Pool {
  /** An idle session, synchronously, or undefined. */
  tryAcquire(options?: AcquireOptions): Lease | undefined
  /** Throws PoolExhausted, PoolClosed, or DatabaseUnavailable with the reason as its cause. */
  acquire(options?: AcquireOptions): Promise<Lease>
  readonly status: PoolStatus
  /**
   * Closes the idle sessions: when a leased one stopped answering they are likely to be dead as well. Leased sessions
   * are passed to the listener of `onDoubt`.
   */
  flush(): void
  /** Sets a listener, called with the leased sessions when one of them has stopped answering. */
  onDoubt(listener: (lent: Iterable<Session>) => void): void
  /**
   * Closes all sessions that are as old as this one: idle ones now, leased ones when they are released. Does nothing
   * for one that was retired before.
   */
  retire(session: Session): void
  /**
   * The same for a read-only session, at growing intervals: new sessions may be read-only as well, and each refused
   * write would close all sessions. Between two intervals they stay in use for reads.
   */
  retireReadOnly(session: Session): void
  /** Resolves when sessions that were found read-only are retired; undefined when none are to be. */
  readonly retiring: Promise<void> | undefined
  /** For a server that does not respond: closes leased sessions too, but for `others`, which are checked elsewhere. */
  cut(others: ReadonlySet<Session>): void
  /** Refuses new borrowers, waits at most `withinMs` for leases to be released, then closes every session. */
  close(withinMs: number): Promise<void>
}

export const createPool = ({
  connector,
  size,
  queue,
  waitMs,
  log,
  now = () => performance.now(),
}: PoolOptions): Pool => {
  const waiters = createSessionWaiters(waitMs)
  const aborter = new AbortController()
  let doubted: (lent: Iterable<Session>) => void = () => undefined

  const isClosed = (): boolean => aborter.signal.aborted
  const mostLong = Math.max(1, size - 1)
  const sessions = createLentSessions({
    mostLong,
    isClosed,
    returned() {
      serve()
      growth.grow()
    },
  })
  const mayBeLong = (): boolean => sessions.longLeft > 0
  /** Leases idle sessions to waiters that may have one. */
  const serve = (): void => {
    while (sessions.idle > 0 && waiters.serve(mayBeLong(), sessions.tryLend));
  }
  const lose = (session: Session): void => {
    sessions.drop(session)
    growth.grow()
  }
  const growth = createSessionGrowth({
    connector,
    signal: aborter.signal,
    log,
    wanted: () => waiters.count - waiters.countLong + Math.min(waiters.countLong, sessions.longLeft),
    room: () => size - sessions.idle - sessions.countLent,
    admit(session) {
      session.on('error', (error) => {
        // The server ended an idle session, or a leased one, whose borrower sees its statement fail.
        log.debug({ err: error }, 'a database connection was lost')
        lose(session)
      })
      session.on('end', () => lose(session))
      sessions.add(session)
      serve()
    },
    failed(error) {
      // While sessions are leased one may be released. Without any, waiting only makes requests pile up.
      if (sessions.countLent === 0) waiters.rejectAll(DatabaseUnavailable().with({ cause: error }))
    },
  })

  const take = (long: boolean): Lease | undefined =>
    (long && !mayBeLong()) || waiters.hasNext(mayBeLong()) ? undefined : sessions.tryLend(long)
  const flush = (): void => {
    sessions.closeIdle()
    doubted([...sessions.lent])
  }
  const retire = (): void => {
    sessions.retireLent()
    sessions.closeIdle()
  }
  const retirement = createRetirement({ now, retire, shortestMs: FIRST_PAUSE_MS, longestMs: LONGEST_PAUSE_MS })

  return {
    tryAcquire: ({ long = false } = {}) => (isClosed() ? undefined : take(long)),
    async acquire({ signal, long = false } = {}) {
      if (isClosed()) throw PoolClosed()
      signal?.throwIfAborted()
      const lease = take(long)
      if (lease !== undefined) return lease
      if (waiters.count >= queue) throw PoolExhausted()
      const waiting = waiters.wait({ signal, long })
      growth.grow()
      return waiting
    },
    get status() {
      const open = sessions.idle + sessions.countLent + growth.connecting
      return { size, open, idle: sessions.idle, waiting: waiters.count }
    },
    flush,
    onDoubt(listener) {
      doubted = listener
    },
    retire(session) {
      if (!sessions.isRetired(session)) retire()
    },
    retireReadOnly(session) {
      if (!sessions.isRetired(session)) retirement.ask()
    },
    get retiring() {
      return retirement.coming
    },
    cut(others) {
      for (const session of sessions.lent) if (!others.has(session)) session.destroy()
      flush()
    },
    async close(withinMs) {
      if (isClosed()) return
      aborter.abort(PoolClosed())
      growth.stop()
      waiters.rejectAll(PoolClosed())
      const leaving = sessions.takeIdle()
      const { promise: late, resolve: cut } = Promise.withResolvers<void>()
      const timer = setTimeout(cut, withinMs)
      await Promise.race([late, Promise.all([sessions.allReturned(), ...leaving.map((session) => session.end())])])
      clearTimeout(timer)
      for (const session of [...leaving, ...sessions.lent]) session.destroy()
    },
  }
}

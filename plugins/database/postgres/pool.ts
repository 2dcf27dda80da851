/**
 * A pool of at most `size` sessions, each leased to one borrower at a time. pg's own pool reports a failed connection
 * to the borrower that happened to start it, connects again immediately for the next one, and has no bound on its
 * queue. Here an unreachable server is retried at growing intervals, and nobody waits longer than the deadline.
 */
import type { Logger } from '../../../kernel/index.ts'
import { DatabaseUnavailable } from '../errors.ts'
import type { Connector } from './client.ts'
import { PoolClosed, PoolExhausted } from './errors.ts'
import type { AcquireOptions, Lease } from './loan.ts'
import { createRetirement } from './retirement.ts'
import type { Session } from './session.ts'

const FIRST_PAUSE_MS = 100
const LONGEST_PAUSE_MS = 1_000 // so that a server that is back is found within the reuse time of readiness

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

interface Waiter {
  readonly long: boolean
  resolve(lease: Lease): void
  reject(error: unknown): void
}

export const createPool = ({
  connector,
  size,
  queue,
  waitMs,
  log,
  now = () => performance.now(),
}: PoolOptions): Pool => {
  const idle: Session[] = []
  /** Leased session → whether it is leased with `long`. */
  const lent = new Map<Session, boolean>()
  /** Leased sessions that are closed when they are released. */
  const retired = new WeakSet<Session>()
  const mostLong = Math.max(1, size - 1)
  let lentLong = 0
  const waiters: Waiter[] = []
  const aborter = new AbortController()
  let [connecting, pauseMs] = [0, 0]
  let pausing: NodeJS.Timeout | undefined
  let drained: (() => void) | undefined
  let doubted: (lent: Iterable<Session>) => void = () => undefined

  const isClosed = (): boolean => aborter.signal.aborted
  const open = (): number => idle.length + lent.size + connecting

  const mayHave = (long: boolean): boolean => !long || lentLong < mostLong
  const nextWaiter = (): Waiter | undefined => waiters.find(({ long }) => mayHave(long))
  const leaveQueue = (waiter: Waiter): void => {
    const at = waiters.indexOf(waiter)
    if (at !== -1) waiters.splice(at, 1)
  }

  const unlend = (session: Session): void => {
    if (lent.get(session) === true) lentLong -= 1
    lent.delete(session)
  }
  const drop = (session: Session): void => {
    unlend(session)
    const at = idle.indexOf(session)
    if (at !== -1) idle.splice(at, 1)
    if (lent.size === 0) drained?.()
  }
  const lend = (session: Session, long: boolean): Lease => {
    lent.set(session, long)
    if (long) lentLong += 1
    let isOut = true
    const giveBack = (act: () => void): void => {
      if (!isOut) throw new Error('a loan was given back twice')
      isOut = false
      if (lent.has(session)) act()
      serve()
      grow()
    }
    return {
      session,
      release: () =>
        giveBack(() => {
          // 'I' means no open transaction; one that is left open would affect the next borrower.
          if (session.isUsable && session.transactionStatus === 'I' && !retired.has(session) && !isClosed())
            return reuse(session)
          drop(session)
          session.destroy()
        }),
      destroy: () =>
        giveBack(() => {
          drop(session)
          session.destroy()
        }),
    }
  }
  const reuse = (session: Session): void => {
    unlend(session)
    idle.push(session)
  }
  /** Leases idle sessions to waiters that may have one. */
  const serve = (): void => {
    for (let waiter = nextWaiter(); waiter !== undefined && idle.length > 0; waiter = nextWaiter()) {
      const session = idle.pop()!
      if (!session.isUsable) continue
      leaveQueue(waiter)
      waiter.resolve(lend(session, waiter.long))
    }
  }
  const admit = (session: Session): void => {
    session.on('error', (error) => {
      // The server ended an idle session, or a leased one, whose borrower sees its statement fail.
      log.debug({ err: error }, 'a database connection was lost')
      drop(session)
      grow()
    })
    session.on('end', () => {
      drop(session)
      grow()
    })
    idle.push(session)
  }
  const fail = (error: unknown): void => {
    // A warning once per outage; later attempts are logged at debug level.
    log[pauseMs === 0 ? 'warn' : 'debug']({ err: error }, 'cannot connect to the database')
    pauseMs = Math.min(pauseMs === 0 ? FIRST_PAUSE_MS : pauseMs * 2, LONGEST_PAUSE_MS)
    pausing = setTimeout(() => {
      pausing = undefined
      grow()
    }, pauseMs).unref()
    // While sessions are leased one may be released. Without any, waiting only makes requests pile up.
    if (lent.size > 0 || connecting > 0) return
    for (const waiter of waiters.splice(0)) waiter.reject(DatabaseUnavailable().with({ cause: error }))
  }
  /** Opens sessions for waiters, while there is room and the server is not known to be unreachable. */
  const grow = (): void => {
    // After a failed attempt only one connection is tried at a time.
    const waiting = waiters.filter(({ long }) => !long).length
    const servable = waiting + Math.min(waiters.length - waiting, mostLong - lentLong)
    const most = pauseMs > 0 ? Math.min(1, servable) : servable
    while (!isClosed() && pausing === undefined && connecting < most && open() < size) {
      connecting += 1
      connector.connect(aborter.signal).then(
        (session) => {
          connecting -= 1
          if (isClosed()) return session.destroy()
          if (!session.isUsable) return fail(new Error('the connection was lost as soon as it was there'))
          if (pauseMs > 0) log.info('connected to the database again')
          pauseMs = 0
          admit(session)
          serve()
          grow()
        },
        (error) => {
          connecting -= 1
          if (!isClosed()) fail(error)
        },
      )
    }
  }

  const take = (long: boolean): Lease | undefined => {
    if (!mayHave(long) || nextWaiter() !== undefined) return undefined
    // The most recently used: its caches are warm, and the server's idle limit may close the others.
    for (let session = idle.pop(); session !== undefined; session = idle.pop())
      if (session.isUsable) return lend(session, long)
    return undefined
  }
  const wait = (signal: AbortSignal | undefined, long: boolean): Promise<Lease> =>
    new Promise((resolve, reject) => {
      const settle = (act: () => void): void => {
        clearTimeout(timer)
        signal?.removeEventListener('abort', abort)
        act()
      }
      const leave = (error: unknown): void => {
        leaveQueue(waiter)
        waiter.reject(error)
      }
      const abort = (): void => leave(signal?.reason)
      const timer = setTimeout(() => leave(PoolExhausted()), waitMs)
      const waiter: Waiter = {
        long,
        resolve: (lease) => settle(() => resolve(lease)),
        reject: (error) => settle(() => reject(error)),
      }
      signal?.addEventListener('abort', abort)
      waiters.push(waiter)
      grow()
    })

  const closeIdle = (): void => {
    for (const session of idle.splice(0)) session.destroy()
  }
  const flush = (): void => {
    closeIdle()
    doubted([...lent.keys()])
  }
  const retire = (): void => {
    for (const one of lent.keys()) retired.add(one)
    closeIdle()
  }
  const retirement = createRetirement({ now, retire, shortestMs: FIRST_PAUSE_MS, longestMs: LONGEST_PAUSE_MS })

  return {
    tryAcquire: ({ long = false } = {}) => (isClosed() ? undefined : take(long)),
    async acquire({ signal, long = false } = {}) {
      if (isClosed()) throw PoolClosed()
      signal?.throwIfAborted()
      const lease = take(long)
      if (lease !== undefined) return lease
      if (waiters.length >= queue) throw PoolExhausted()
      return wait(signal, long)
    },
    get status() {
      return { size, open: open(), idle: idle.length, waiting: waiters.length }
    },
    flush,
    onDoubt(listener) {
      doubted = listener
    },
    retire(session) {
      if (!retired.has(session)) retire()
    },
    retireReadOnly(session) {
      if (!retired.has(session)) retirement.ask()
    },
    get retiring() {
      return retirement.coming
    },
    cut(others) {
      for (const session of lent.keys()) if (!others.has(session)) session.destroy()
      flush()
    },
    async close(withinMs) {
      if (isClosed()) return
      aborter.abort(PoolClosed())
      clearTimeout(pausing)
      for (const waiter of waiters.splice(0)) waiter.reject(PoolClosed())
      const leaving = idle.splice(0)
      const { promise: late, resolve: cut } = Promise.withResolvers<void>()
      const timer = setTimeout(cut, withinMs)
      const returned = new Promise<void>((resolve) => {
        drained = resolve
        if (lent.size === 0) resolve()
      })
      await Promise.race([late, Promise.all([returned, ...leaving.map((session) => session.end())])])
      clearTimeout(timer)
      for (const session of [...leaving, ...lent.keys()]) session.destroy()
    },
  }
}

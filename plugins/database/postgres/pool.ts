/**
 * At most `size` sessions, lent to one borrower at a time. pg's own pool hands a failed connection to whoever happened
 * to start it, knocks again at once for each next borrower, and has no bound on its queue; here a server that is away
 * is asked at growing intervals, and nobody waits longer than the deadline.
 */
import type { Logger } from '../../../kernel/index.ts'
import { DatabaseUnavailable } from '../errors.ts'
import type { Connector } from './client.ts'
import { PoolClosed, PoolExhausted } from './errors.ts'
import type { AcquireOptions, Lease } from './loan.ts'
import { createRetirement } from './retirement.ts'
import type { Session } from './session.ts'

const FIRST_PAUSE_MS = 100
const LONGEST_PAUSE_MS = 1_000 // so that a server that is back is found within the second readiness looks back on

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
  /** An idle session at once, without a promise, or undefined. */
  tryAcquire(options?: AcquireOptions): Lease | undefined
  /** Throws PoolExhausted, PoolClosed, or DatabaseUnavailable with the reason as its cause. */
  acquire(options?: AcquireOptions): Promise<Lease>
  readonly status: PoolStatus
  /**
   * Closes the idle sessions: when one on loan stopped answering, they are likely to be as dead. Those on loan are told to
   * whoever asked with `onDoubt`.
   */
  flush(): void
  /** Called with the sessions on loan when another one has stopped answering. */
  onDoubt(listener: (lent: Iterable<Session>) => void): void
  /**
   * Uses no session again that is as old as this one: closes the idle ones now, and those on loan when they come back.
   * Does nothing for one that was retired before.
   */
  retire(session: Session): void
  /**
   * The same for a session that is read-only, at growing intervals: while the database stays so, new sessions are as
   * read-only, and each refused write would close all sessions. Until the next time they are used on, for reads.
   */
  retireReadOnly(session: Session): void
  /** Resolves when sessions that were found read-only are retired; undefined when none of them are waited for. */
  readonly retiring: Promise<void> | undefined
  /** When the server stands still: closes those on loan as well, but for `others`, who find out by themselves. */
  cut(others: ReadonlySet<Session>): void
  /** Refuses newcomers, waits for loans to come back (at most `withinMs`), closes every session. */
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
  /** Session → whether it is lent for long. */
  const lent = new Map<Session, boolean>()
  /** Sessions on loan that are closed when they come back. */
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
          // 'I': nothing open. Any other state would be the next borrower's.
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
  /** Lends what is idle to whoever waits and may have it. */
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
      // An idle session that the server ended, or one on loan: its borrower learns it from the statement.
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
    // Once per outage; the knocking that follows is for whoever debugs it.
    log[pauseMs === 0 ? 'warn' : 'debug']({ err: error }, 'cannot connect to the database')
    pauseMs = Math.min(pauseMs === 0 ? FIRST_PAUSE_MS : pauseMs * 2, LONGEST_PAUSE_MS)
    pausing = setTimeout(() => {
      pausing = undefined
      grow()
    }, pauseMs).unref()
    // With sessions on loan there is something to wait for; without, waiting longer only piles up requests.
    if (lent.size > 0 || connecting > 0) return
    for (const waiter of waiters.splice(0)) waiter.reject(DatabaseUnavailable().with({ cause: error }))
  }
  /** Connects for whoever waits, as far as there is room and the server is not known to be away. */
  const grow = (): void => {
    // While the last attempt failed, one knocks for all.
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
    // The most recently used: its caches are warm, and the others may be closed by the server's own idle limit.
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

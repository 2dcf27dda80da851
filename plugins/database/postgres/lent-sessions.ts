/** The open sessions of a pool: those that are idle, and those that are leased. */
import type { Lease } from './loan.ts'
import type { Session } from './session.ts'

export interface LentSessionsParts {
  /** Leases with `long` at once. */
  readonly mostLong: number
  readonly isClosed: () => boolean
  /** Called when a lease has ended. */
  readonly returned: () => void
}

export interface LentSessions {
  readonly idle: number
  readonly lent: Iterable<Session>
  readonly countLent: number
  /** How many more may be leased with `long`. */
  readonly longLeft: number
  add(session: Session): void
  /** Forgets a session that was lost. */
  drop(session: Session): void
  /** Leases the session that was used last: its caches are warm. Undefined where none is idle. */
  tryLend(long: boolean): Lease | undefined
  /** Closes those that are leased when they are released. */
  retireLent(): void
  isRetired(session: Session): boolean
  closeIdle(): void
  /** Removes and returns the idle ones. */
  takeIdle(): readonly Session[]
  /** Resolves once nothing is leased. */
  allReturned(): Promise<void>
}

export const createLentSessions = ({ mostLong, isClosed, returned }: LentSessionsParts): LentSessions => {
  const idle: Session[] = []
  /** Leased session → whether it is leased with `long`. */
  const lent = new Map<Session, boolean>()
  const retired = new WeakSet<Session>()
  let lentLong = 0
  let drained: (() => void) | undefined

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
  const destroy = (session: Session): void => {
    drop(session)
    session.destroy()
  }
  const release = (session: Session): void => {
    // 'I' means no open transaction; one that is left open would affect the next borrower.
    const isReusable = session.isUsable && session.transactionStatus === 'I'
    if (!isReusable || retired.has(session) || isClosed()) {
      destroy(session)
      return
    }
    unlend(session)
    idle.push(session)
  }
  const lend = (session: Session, long: boolean): Lease => {
    lent.set(session, long)
    if (long) lentLong += 1
    let isOut = true
    const giveBack = (act: (session: Session) => void): void => {
      if (!isOut) throw new Error('a loan was given back twice')
      isOut = false
      if (lent.has(session)) act(session)
      returned()
    }
    return { session, release: () => giveBack(release), destroy: () => giveBack(destroy) }
  }
  return {
    get idle() {
      return idle.length
    },
    lent: { [Symbol.iterator]: () => lent.keys() },
    get countLent() {
      return lent.size
    },
    get longLeft() {
      return mostLong - lentLong
    },
    add: (session) => void idle.push(session),
    drop,
    tryLend(long) {
      for (let session = idle.pop(); session !== undefined; session = idle.pop())
        if (session.isUsable) return lend(session, long)
      return undefined
    },
    retireLent() {
      for (const session of lent.keys()) retired.add(session)
    },
    isRetired: (session) => retired.has(session),
    closeIdle() {
      for (const session of idle.splice(0)) session.destroy()
    },
    takeIdle: () => idle.splice(0),
    allReturned: () =>
      new Promise((resolve) => {
        drained = resolve
        if (lent.size === 0) resolve()
      }),
  }
}

/**
 * Whether anything that an access token depends on has changed in the database since the token was read from it. One
 * query of a second answers that for all tokens, whichever server made the change.
 */
import type { Clock } from '../../../kernel/index.ts'
import { chain, type Database, type MaybePromise } from '../../database/service.ts'
import {
  type AccessChangeRow,
  type DependencyKind,
  type LastChangeRow,
  lastAccessChange,
  listAccessChanges,
} from './access-change-tables.ts'

const CURRENT_MS = 1_000 // spec: a revocation is seen by every server within a second
const RENEW_MS = 500 // changes of this age are read again beside requests, so that none of them waits for it
const MAX_READ = 1_000 // changes that one query lists; where there are more, every token counts as changed
const MAX_KEPT = 20_000
/**
 * After a longer pause every token counts as changed on PostgreSQL: meanwhile a standby that lacks the last transactions
 * may have been promoted. An SQLite file loses none.
 */
const LONGEST_PAUSE_MS = 5_000

/** Ids of the rows that a token depends on: a token and a client as text, a grant and a session with a character for each byte. */
export type Dependencies = Readonly<Record<DependencyKind, string | undefined>>

export interface AccessChanges {
  /** True while `version` is less than a second old. In the second half of it the changes are read again. */
  isCurrent(): boolean
  /** Grows with each change that this server has read. */
  readonly version: number
  /** Milliseconds since the changes were last read. */
  age(): number
  /** Reads the changes unless they are current, and returns the version. Fails as the query does. */
  read(): MaybePromise<number>
  /** False only if nothing that the token depends on has changed behind this version. */
  mayConcern(version: number, dependencies: Dependencies): boolean
  /** Makes the next request read the changes: call it after the COMMIT of one. */
  expire(): void
}

interface Last {
  readonly number: number
  readonly mark: string
}
const toLast = ({ last, mark }: LastChangeRow): Last => ({ number: Number(last), mark })

const KINDS = ['token', 'grant', 'session', 'client'] as const

interface ReadList {
  /** The changes behind the last one that was known. */
  readonly rows: readonly AccessChangeRow[]
  /** The last of them. */
  readonly reached: Last
  /** False where changes are missing or cannot be distinguished. */
  readonly isWhole: boolean
}

/** `listed` begins with the change that was the last one before, if there was any. */
const readList = (before: Last, listed: readonly AccessChangeRow[]): ReadList => {
  const rows = listed.filter(({ number }) => Number(number) > before.number)
  const known = listed.find(({ number }) => Number(number) === before.number)
  let reached = before
  // Another change has its number: the database has lost what this server has read, and goes on from there.
  let isWhole = before.number === 0 || known?.mark === before.mark
  for (const { number, mark, kind } of rows) {
    // A gap: changes were removed before this server read them.
    if (kind === 'all' || Number(number) > reached.number + 1) isWhole = false
    reached = { number: Number(number), mark }
  }
  return { rows, reached, isWhole }
}

export const createAccessChanges = (database: Database, clock: Clock): AccessChanges => {
  /** The version in which a row changed last, by kind and id. */
  const changedIn = new Map<string, number>()
  let version = 0
  /** Changes up to this version are not distinguished: they concern every token. */
  let floor = 0
  /** The last change in the database; undefined where the next query cannot show what has changed. */
  let last: Last | undefined
  /** Monotonic time before which everything is known, in milliseconds. */
  let currentAt = Number.NEGATIVE_INFINITY
  let askedAt = Number.NEGATIVE_INFINITY
  let expiries = 0
  let reading: Promise<number> | undefined

  const distrustAll = (newest: Last): void => {
    changedIn.clear()
    version += 1
    floor = version
    last = newest
  }
  const learn = (before: Last, newest: Last, listed: readonly AccessChangeRow[]): void => {
    const { rows, reached, isWhole } = readList(before, listed)
    const fits = listed.length <= MAX_READ && changedIn.size + rows.length <= MAX_KEPT
    if (!isWhole || !fits || reached.number < newest.number) {
      distrustAll(reached.number < newest.number ? newest : reached)
      return
    }
    version += 1
    for (const { kind, id } of rows) {
      const isText = kind === 'client' || kind === 'token'
      const key = isText ? id : Buffer.from(id, 'hex').toString('latin1')
      changedIn.set(`${kind} ${key}`, version)
    }
    last = reached
  }
  const ask = (): MaybePromise<number> => {
    const now = clock.monotonic()
    const known = database.kind === 'postgres' && now - askedAt > LONGEST_PAUSE_MS ? undefined : last
    const expiriesBefore = expiries
    askedAt = now
    // Until the query has succeeded: one that fails may mean that another server takes over.
    last = undefined
    const done = (): number => {
      // What was read before a change of this server may lack it.
      if (expiries === expiriesBefore) currentAt = now
      return version
    }
    return chain<LastChangeRow | undefined, number>(database.get<LastChangeRow>(lastAccessChange, []), (row) => {
      if (row === undefined) throw new Error('smart_access_change_count has no row')
      const newest = toLast(row)
      if (known === undefined || newest.number < known.number) {
        distrustAll(newest)
        return done()
      }
      if (newest.number === known.number && newest.mark === known.mark) {
        last = known
        return done()
      }
      return chain<AccessChangeRow[], number>(
        database.all<AccessChangeRow>(listAccessChanges, [known.number, MAX_READ + 1]),
        (rows) => {
          learn(known, newest, rows)
          return done()
        },
      )
    })
  }
  const start = (): MaybePromise<number> => {
    const asked = ask()
    if (!(asked instanceof Promise)) return asked
    reading = asked.finally(() => {
      reading = undefined
    })
    return reading
  }
  /** Its failure is ignored: the next request that has to wait reads again and reports it. */
  const renew = (): void => {
    if (reading !== undefined) return
    try {
      const asked = start()
      if (asked instanceof Promise) asked.catch(() => undefined)
    } catch {}
  }
  const isCurrent = (): boolean => {
    const age = clock.monotonic() - currentAt
    if (age >= CURRENT_MS) return false
    if (age >= RENEW_MS) renew()
    return true
  }
  const read = (): MaybePromise<number> => {
    if (isCurrent()) return version
    // One at a time, because each begins where the one before has ended.
    return reading === undefined ? start() : reading.then(read)
  }
  return {
    isCurrent,
    get version() {
      return version
    },
    age: () => clock.monotonic() - askedAt,
    read,
    mayConcern(since, dependencies) {
      if (since === version) return false
      if (since < floor) return true
      for (const kind of KINDS) {
        const id = dependencies[kind]
        if (id !== undefined && (changedIn.get(`${kind} ${id}`) ?? 0) > since) return true
      }
      return false
    },
    expire() {
      expiries += 1
      currentAt = Number.NEGATIVE_INFINITY
    },
  }
}

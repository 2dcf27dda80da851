/**
 * On the server that writes: moves what other servers have left in the inbox into the trail, in the transaction that appends
 * it. A row with a wrong seal is not what a server of this trail has written: it is left out, and an `alarm` stands in its
 * place. So does one where rows are missing.
 */
import { type Clock, every, type Logger, type Repeating } from '../../../kernel/index.ts'
import type { Database, Transaction } from '../../database/service.ts'
import type { KeyRing } from '../chain/key.ts'
import { sealInbox } from '../chain/seals.ts'
import type { TrailEvent } from '../event.ts'
import { type HeadRow, readHead } from '../tables.ts'
import type { Trail } from '../trail/trail.ts'
import {
  type Anchor,
  anchorInbox,
  dropInbox,
  eventsIn,
  findInbox,
  forgetAnchors,
  type InboxRow,
  readAnchors,
  readInbox,
} from './inbox-rows.ts'

const EACH_MS = 250
const ROWS = 32 // of one transaction: each holds the events of 20 milliseconds
const FORGET_MS = 86_400_000 // a server touches its row each hour

export interface InboxMover {
  start(): void
  stop(): Promise<void>
  /** Resolves when everything that was in the inbox is in the trail. */
  move(): Promise<void>
  /** Forgets servers that are gone without a word. */
  forget(): Promise<void>
}

export interface InboxMoverParts {
  readonly database: Database
  readonly keys: KeyRing
  readonly trail: Pick<Trail, 'append'>
  readonly clock: Clock
  readonly log: Logger
}

type Fault = 'rows are missing' | 'a row was moved before' | 'the seal does not fit'

/** What is taken from the rows of one server. */
interface Taken {
  readonly events: readonly TrailEvent[]
  readonly faults: readonly { readonly n: number; readonly fault: Fault }[]
  /** Number of the last row. */
  readonly last: number
  /** The server has ended: there is no next row. */
  readonly isOver: boolean
}

const take = (keys: KeyRing, chain: Uint8Array, rows: readonly InboxRow[], before: number): Taken => {
  const events: TrailEvent[] = []
  const faults: { n: number; fault: Fault }[] = []
  let last = before
  for (const row of rows) {
    const { n } = row
    if (n <= last) {
      faults.push({ n, fault: 'a row was moved before' })
      continue
    }
    if (n > last + 1) faults.push({ n, fault: 'rows are missing' })
    last = n
    const key = keys.find(row.key)
    if (key !== undefined && sealInbox(key, chain, row).equals(row.seal)) events.push(...eventsIn(row.body))
    else faults.push({ n, fault: 'the seal does not fit' })
  }
  return { events, faults, last, isOver: events.at(-1)?.kind === 'stop' }
}

/** PostgreSQL returns bigint as text. */
const numbered = <T extends { readonly n: number }>(rows: readonly T[]): T[] =>
  rows.map((row) => ({ ...row, n: Number(row.n) }))

export const createInboxMover = ({ database, keys, trail, clock, log }: InboxMoverParts): InboxMover => {
  let repeating: Repeating | undefined

  /** Resolves with the number of rows, and those that are faulty. */
  const moveSome = async (transaction: Transaction) => {
    const faulty: { server: string; n: number; fault: Fault }[] = []
    const rows = numbered(await transaction.all<InboxRow>(readInbox, [ROWS]))
    const head = await transaction.get<HeadRow>(readHead, [])
    if (rows.length === 0 || head === undefined) return { count: 0, faulty }
    const anchors = numbered(await transaction.all<Anchor>(readAnchors, []))
    for (const [server, own] of Map.groupBy(rows, (row) => row.server)) {
      const before = anchors.find((anchor) => anchor.server === server)?.n ?? 0
      const { events, faults, last, isOver } = take(keys, head.chain, own, before)
      for (const { n, fault } of faults) {
        faulty.push({ server, n, fault })
        trail.append(transaction, { at: clock.now(), kind: 'alarm', status: 500 })
      }
      for (const event of events) trail.append(transaction, event)
      await transaction.run(dropInbox, [server, isOver ? last : last - 1])
      if (!isOver) await transaction.run(anchorInbox, [clock.now(), server, last])
    }
    return { count: rows.length, faulty }
  }
  const move = async (): Promise<void> => {
    for (let isMore = true; isMore; ) {
      if ((await database.get(findInbox, [])) === undefined) return
      const { count, faulty } = await database.transact(moveSome)
      for (const one of faulty) log.error(one, 'the inbox of the audit trail was changed by somebody else')
      isMore = count === ROWS
    }
  }
  const onError = (error: unknown): void => log.error({ err: error }, 'the inbox of the audit trail is not moved')

  return {
    start() {
      repeating = every(clock, EACH_MS, move, onError)
    },
    stop: async () => repeating?.stop(),
    move: async () => {
      // A run in progress may have begun before the last row was there.
      await repeating?.now().catch(() => undefined)
      await repeating?.now()
    },
    async forget() {
      await database.transact((transaction) => transaction.run(forgetAnchors, [clock.now() - FORGET_MS]))
    },
  }
}

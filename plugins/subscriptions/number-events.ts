/**
 * Compares queued versions with the active Subscriptions, in the order of commits, and gives each match the next number of
 * its Subscription. One transaction replaces the queued versions by their events, so a crash loses and repeats none.
 */
import { type Clock, createPause, isServerError, type Logger, RestrictionMalformed } from '../../kernel/index.ts'
import type { Database, Transaction } from '../database/service.ts'
import { type CriteriaParts, createCriteria } from './criteria.ts'
import {
  type ChangeRow,
  deleteChanges,
  insertEvent,
  readChanges,
  readRunning,
  type StateRow,
  setDelivered,
  takeEvents,
} from './tables.ts'
import { createBell } from './wait-for.ts'
import type { WriteStatus } from './write-status.ts'

const RETRY_MS = 1_000
const LOOK_MS = 5_000
const MAX_WAITING = 100_000 // notifications of a Subscription

export interface NumberEventsParts extends Pick<CriteriaParts, 'server' | 'ownerSession'> {
  readonly database: Database
  readonly writeStatus: WriteStatus
  /** Events of these Subscriptions were stored and are to be sent. */
  readonly onEvents: (subscriptions: readonly string[]) => void
  /** Called with the number of new events of a WebSocket Subscription, which are not stored. */
  readonly ping: (subscription: string, events: number) => void
  readonly clock: Clock
  readonly log: Logger
}

export interface NumberEvents {
  start(): void
  /** There are queued changes. */
  wake(): void
  stop(): Promise<void>
}

interface Matched {
  readonly of: StateRow
  readonly changes: ChangeRow[]
}

export const createNumberEvents = (parts: NumberEventsParts): NumberEvents => {
  const { database, server, ownerSession, writeStatus, onEvents, ping, clock, log } = parts
  const bell = createBell(clock)
  let isStopping = false
  let running: Promise<void> | undefined

  /** Criteria that cannot be used any more end their Subscription. */
  const unusable = async (of: StateRow, error: unknown): Promise<void> => {
    const isOver = isServerError(error) && (error.status < 500 || error.key === RestrictionMalformed.key)
    if (!isOver) throw error
    log.warn({ err: error, subscription: of.id }, 'the criteria of a Subscription cannot be used any more')
    await writeStatus(of, 'error', `The criteria cannot be used any more: ${error.message}`)
  }
  const criteria = createCriteria({ server, ownerSession, unusable })
  const matchAll = async (changes: readonly ChangeRow[]): Promise<readonly Matched[]> => {
    const now = clock.now()
    const active = (await database.all<StateRow>(readRunning, [])).filter(
      ({ status, ends }) => status === 'active' && (ends === 0 || ends > now),
    )
    await criteria.prepare(active)
    const matched = new Map<string, Matched>()
    const pause = createPause()
    for (const change of changes) {
      if (!criteria.areCurrent) await criteria.prepare(active)
      for (const of of await criteria.matching(change)) {
        const own = matched.get(of.id) ?? { of, changes: [] }
        own.changes.push(change)
        matched.set(of.id, own)
      }
      await pause()
    }
    return [...matched.values()]
  }
  /** Stores the events, and returns those of Subscriptions that are still active. */
  const store = async (transaction: Transaction, matched: readonly Matched[], last: number) => {
    const stored: Matched[] = []
    for (const one of matched) {
      const { id, version, channel } = one.of
      const taken = await transaction.get<{ events: number }>(takeEvents, [one.changes.length, id, version])
      if (taken === undefined) continue
      stored.push(one)
      let number = Number(taken.events) - one.changes.length
      if (channel === 'websocket') await transaction.run(setDelivered, [taken.events, id, version])
      else
        for (const change of one.changes) {
          number += 1
          await transaction.run(insertEvent, [id, number, change.type, change.id, change.version])
        }
    }
    await transaction.run(deleteChanges, [last])
    return stored
  }
  /** Handles one page of changes. False where there are none. */
  const step = async (): Promise<boolean> => {
    const changes = await database.all<ChangeRow>(readChanges, [])
    const last = changes.at(-1)
    if (last === undefined) return false
    const matched = await matchAll(changes)
    const stored = await database.transact((transaction) => store(transaction, matched, last.seq))
    for (const { of, changes: own } of stored) if (of.channel === 'websocket') ping(of.id, own.length)
    const waiting = stored.filter(({ of }) => of.channel === 'rest-hook')
    onEvents(waiting.map(({ of }) => of.id))
    for (const { of } of waiting)
      if (of.events - of.delivered > MAX_WAITING)
        await writeStatus(of, 'error', `More than ${MAX_WAITING} notifications waited for the endpoint.`)
    return true
  }
  const work = async (): Promise<void> => {
    while (!isStopping) {
      try {
        if (await step()) continue
        await bell.wait(LOOK_MS)
      } catch (error) {
        log.warn({ err: error }, 'changes could not be compared with Subscriptions; tried again')
        await bell.wait(RETRY_MS)
      }
    }
  }
  return {
    start() {
      running = work()
    },
    wake: bell.ring,
    async stop() {
      isStopping = true
      bell.ring()
      await running
    },
  }
}

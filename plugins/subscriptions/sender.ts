/** Activates one Subscription, and sends the notifications of a rest-hook in their order, one at a time. */
import type { Caller, Clock, Logger } from '../../kernel/index.ts'
import type { RequestedSubscription } from './read-subscription.ts'
import { createRequestReader, type RequestReaderParts } from './request-reader.ts'
import { createSendEvent, type SendEventParts } from './send-event.ts'
import type { RegisteredClients } from './service.ts'
import { deleteEvent, type EventRow, readEvents, readState, type StateRow, setDelivered, setFailing } from './tables.ts'
import { createBell } from './wait-for.ts'

const HANDSHAKE_MS = 60_000 // for which the handshake is repeated
const FIRST_PAUSE_MS = 1_000
const LONGEST_PAUSE_MS = 60_000
const BROKEN_PAUSE_MS = 5_000 // after an error of this server
const LOOK_MS = 30_000 // between two checks whether it has ended
const RELAXED = Object.freeze({ asynchronousCommit: true })

export interface SenderParts extends SendEventParts, RequestReaderParts {
  /** Milliseconds for which notifications are repeated. */
  readonly retryMs: number
  /** Undefined where clients are not registered. */
  readonly clients: RegisteredClients | undefined
  readonly clock: Clock
  readonly log: Logger
}

export interface Sender {
  /** There are events. Does not shorten the pause after a failure. */
  wake(): void
  /** The Subscription has changed. */
  changed(): void
  stop(): void
  /** Resolves when the Subscription does not run any more, or it was stopped. Never rejects. */
  readonly done: Promise<void>
}

/** When the state is read again. */
type Next = 'at once' | 'when woken' | 'after a pause'

/** Where the status could not be written because the resource has changed, `changed` ends the pause. */
const after = (hasWritten: boolean): Next => (hasWritten ? 'at once' : 'after a pause')

export const startSender = (parts: SenderParts, id: string): Sender => {
  const { database, send, writeStatus, retryMs, clients, clock, log } = parts
  const controller = new AbortController()
  const { signal } = controller
  const bell = createBell(clock)
  const sendEvent = createSendEvent(parts)
  const readRequest = createRequestReader(parts)
  let isIdle = false
  let hasEvents = false
  let hasChanged = false
  let tries = 0

  /** The endpoint has not taken a request. */
  const failed = async (row: StateRow, why: string, boundMs: number): Promise<Next> => {
    if (signal.aborted) return 'at once'
    const now = clock.now()
    const since = row.failing === 0 ? now : row.failing
    if (row.failing === 0) await database.transact((transaction) => transaction.run(setFailing, [now, id, row.version]))
    if (now - since >= boundMs) {
      log.info({ subscription: id, why }, 'a Subscription has failed')
      const minutes = Math.round((now - since) / 60_000)
      return after(await writeStatus(row, 'error', `Notifications have failed for ${minutes} minutes; ${why}.`))
    }
    tries += 1
    return 'after a pause'
  }
  const hasOwner = async (row: StateRow): Promise<boolean> => {
    const { client } = JSON.parse(row.caller) as Caller
    return clients === undefined || client === undefined || clients.isActive(client)
  }
  const begin = async (row: StateRow, asked: RequestedSubscription): Promise<Next> => {
    if (asked.channel === 'rest-hook' && !asked.hasPayload) {
      const { endpoint: url, headers } = asked
      const why = await send({ method: 'POST', url, headers, subscription: id, number: 0, body: undefined }, signal)
      if (why !== undefined) return failed(row, why, HANDSHAKE_MS)
    }
    tries = 0
    return after(await writeStatus(row, 'active'))
  }
  const deliver = async (row: StateRow, asked: RequestedSubscription): Promise<Next> => {
    const events = await database.all<EventRow>(readEvents, [id])
    if (events.length === 0) return 'when woken'
    for (const event of events) {
      if (signal.aborted || hasChanged) return 'at once'
      const why = await sendEvent(row, asked, event, signal)
      if (why !== undefined) return failed(row, why, retryMs)
      tries = 0
      await database.transact(async (transaction) => {
        await transaction.run(deleteEvent, [id, event.number])
        await transaction.run(setDelivered, [event.number, id, row.version])
      }, RELAXED)
      if (row.failing !== 0) return 'at once'
    }
    return 'at once'
  }
  const step = async (): Promise<Next | undefined> => {
    hasChanged = false
    hasEvents = false
    const row = await database.get<StateRow>(readState, [id])
    if (row === undefined || (row.status !== 'requested' && row.status !== 'active')) return undefined
    if (row.ends !== 0 && row.ends <= clock.now()) return after(await writeStatus(row, 'off'))
    if (!(await hasOwner(row))) return after(await writeStatus(row, 'error', 'Its client is not registered any more.'))
    const asked = await readRequest(row)
    if (asked === undefined) return 'after a pause'
    if (row.status === 'requested') return begin(row, asked)
    return asked.channel === 'websocket' ? 'when woken' : deliver(row, asked)
  }
  const rest = async (): Promise<void> => {
    if (hasEvents) return
    isIdle = true
    await bell.wait(LOOK_MS)
    isIdle = false
  }
  const work = async (): Promise<void> => {
    while (!signal.aborted) {
      let next: Next | undefined
      try {
        next = await step()
      } catch (error) {
        log.warn({ err: error, subscription: id }, 'a Subscription could not be served; tried again')
        await bell.wait(BROKEN_PAUSE_MS)
        continue
      }
      if (next === undefined) return
      if (next === 'when woken') await rest()
      if (next === 'after a pause')
        await bell.wait(Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** Math.min(tries - 1, 6)))
    }
  }
  return {
    wake() {
      hasEvents = true
      if (isIdle) bell.ring()
    },
    changed() {
      hasChanged = true
      bell.ring()
    },
    stop() {
      controller.abort()
      bell.ring()
    },
    done: work(),
  }
}

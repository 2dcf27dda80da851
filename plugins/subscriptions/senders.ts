/** A sender for each Subscription that is requested or active, on the server that writes. */
import { type Sender, type SenderParts, startSender } from './sender.ts'
import { readRunning, type StateRow } from './tables.ts'
import { createBell } from './wait-for.ts'

const LOOK_MS = 30_000
const RETRY_MS = 1_000

export interface Senders {
  start(): void
  /** The rows of these Subscriptions have changed. */
  changed(subscriptions: readonly string[]): void
  /** There are events of these Subscriptions. */
  wake(subscriptions: readonly string[]): void
  stop(): Promise<void>
}

export const createSenders = (parts: SenderParts): Senders => {
  const { database, clock, log } = parts
  const bell = createBell(clock)
  const all = new Map<string, Sender>()
  let isStopping = false
  let running: Promise<void> | undefined

  const look = async (): Promise<void> => {
    for (const { id } of await database.all<StateRow>(readRunning, [])) {
      if (isStopping || all.has(id)) continue
      const sender = startSender(parts, id)
      all.set(id, sender)
      void sender.done.then(() => {
        all.delete(id)
        // It may have been requested again while its sender ended.
        bell.ring()
      })
    }
  }
  const work = async (): Promise<void> => {
    while (!isStopping) {
      try {
        await look()
        await bell.wait(LOOK_MS)
      } catch (error) {
        log.warn({ err: error }, 'Subscriptions could not be looked for; tried again')
        await bell.wait(RETRY_MS)
      }
    }
  }
  return {
    start() {
      running = work()
    },
    changed(subscriptions) {
      for (const id of subscriptions) all.get(id)?.changed()
      bell.ring()
    },
    wake(subscriptions) {
      for (const id of subscriptions) all.get(id)?.wake()
    },
    async stop() {
      isStopping = true
      bell.ring()
      await running
      for (const sender of all.values()) sender.stop()
      await Promise.all([...all.values()].map(({ done }) => done))
    },
  }
}

/** All connections of this server: their number, the passing of time for them, and their end. */
import { type Clock, every, type ServerError } from '../../kernel/index.ts'
import { CLOSE } from './channel.ts'
import { ServerFull } from './errors.ts'

const MAX_CONNECTIONS = 5_000
const MAX_QUERIES = 50_000
const TICK_MS = 1_000

export interface Held {
  tick(): void
  close(code: number, reason: string): void
}

export interface OpenConnections {
  /** Counts a connection that is being opened. Throws 503. Call the returned function when it has closed. */
  admit(): () => void
  /** Throws 503. */
  openQuery(): void
  /** Call it once when a query ends that `openQuery` has counted. */
  closeQuery(): void
  add(connection: Held): void
  remove(connection: Held): void
  closeAll(code: number, reason: string): void
  stop(): Promise<void>
}

const counter = (most: number, what: string) => {
  let count = 0
  return {
    add(): void {
      if (count >= most) throw ServerFull(what, most)
      count += 1
    },
    remove(): void {
      count -= 1
    },
  }
}

/**
 * `tick` is called once a second, before those of the connections. `refusal`: why the server takes no requests, if it does
 * not.
 */
export const createOpenConnections = (
  clock: Clock,
  tick: () => void,
  refusal: () => ServerError | undefined,
  onError: (error: unknown) => void,
): OpenConnections => {
  const held = new Set<Held>()
  const closeAll = (code: number, reason: string): void => {
    for (const one of [...held]) one.close(code, reason)
  }
  const repeating = every(
    clock,
    TICK_MS,
    async () => {
      tick()
      // Such as when the writer lease is lost: what this server knows may be old.
      if (held.size > 0 && refusal() !== undefined) closeAll(CLOSE.lost, 'the server cannot answer')
      for (const one of [...held]) one.tick()
    },
    onError,
  )
  const connections = counter(MAX_CONNECTIONS, 'connections')
  const queries = counter(MAX_QUERIES, 'queries')
  return {
    admit() {
      connections.add()
      let isOver = false
      return () => {
        if (!isOver) connections.remove()
        isOver = true
      }
    },
    openQuery: queries.add,
    closeQuery: queries.remove,
    add: (connection) => void held.add(connection),
    remove: (connection) => void held.delete(connection),
    closeAll,
    async stop() {
      closeAll(CLOSE.stopping, 'the server stops')
      await repeating.stop()
    },
  }
}

/** Counts round trips to PostgreSQL in the bytes that a proxy has passed on: each one ends with the message Sync. */
import type { TcpProxy } from './tcp-proxy.ts'

// https://www.postgresql.org/docs/17/protocol-message-formats.html
const SYNC = Buffer.from([0x53, 0, 0, 0, 4])

/** The number of round trips since the last call. */
export const countTrips = (proxy: Pick<TcpProxy, 'taken'>): number => {
  const sent = proxy.taken()
  let found = 0
  for (let at = sent.indexOf(SYNC); at !== -1; at = sent.indexOf(SYNC, at + 1)) found += 1
  return found
}

/** Counts round trips to PostgreSQL in what is sent to it. */
import type { TcpProxy } from './tcp-proxy.ts'

/**
 * The message that ends a group of messages, wherever TCP splits it.
 * https://www.postgresql.org/docs/17/protocol-message-formats.html
 */
export const SYNC = Buffer.from([0x53, 0, 0, 0, 4])

export const countSyncs = (sent: Buffer): number => {
  let count = 0
  for (let at = sent.indexOf(SYNC); at !== -1; at = sent.indexOf(SYNC, at + 1)) count += 1
  return count
}

/** Round trips since the proxy was last asked what it has passed on. */
export const countTrips = (proxy: Pick<TcpProxy, 'taken'>): number => countSyncs(proxy.taken())

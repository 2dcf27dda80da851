/** Bodies that are not worth waiting for: the connection ends with the answer instead. */
import type { IncomingMessage } from 'node:http'

const UNREAD_BYTES = 64 * 1024 // a shorter rest is read to its end, so that the connection can be used again

/** True for a body that is still arriving and too long to wait for. */
export const isUnread = ({ complete, headers }: IncomingMessage): boolean =>
  complete === false &&
  (headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > UNREAD_BYTES)

/** How messages reach one client: a WebSocket, or the events of one answer. */

/** Close codes of WebSockets. RFC 6455, section 7.4: 4000 to 4999 are the application's. */
export const CLOSE = {
  stopping: 1001,
  failed: 1011,
  malformed: 4400,
  unauthorized: 4401,
  slow: 4408,
  lost: 4503,
} as const

export interface Channel {
  /** One JSON text in one line; `rest` is the end of it in UTF-8. Ignored once it is closed. */
  send(text: string, rest?: Buffer): void
  /** Bytes that the client has not taken yet. */
  readonly unsent: number
  close(code: number, reason: string): void
}

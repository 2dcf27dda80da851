/**
 * Answers `Expect: 100-continue` when the body is first read. So a request that is refused by its head, such as one that
 * announces too large a body, invites no body. RFC 9110, section 10.1.1.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'

/** For the event `checkContinue`. The connection ends with an answer to a body that was not invited. */
export const continueWhenRead = (request: IncomingMessage, response: ServerResponse): void => {
  const { shouldKeepAlive } = response
  const read = request._read
  response.shouldKeepAlive = false
  request._read = (size) => {
    request._read = read
    // Once the answer is sent, Node itself reads what is left, to discard it.
    if (!response.headersSent) {
      response.shouldKeepAlive = shouldKeepAlive
      response.writeContinue()
    }
    read.call(request, size)
  }
}

/** On a replica: sends requests on to the primary, body and answer as they arrive. */
import type { Clock, Reply, RequestContext } from '../../../kernel/index.ts'
import { headersToReturn, headersToSend, type PassedHeaders } from './passed-headers.ts'
import type { Primary } from './primary.ts'
import { type MarkKey, makeMark, RELAY_HEADER } from './relay-mark.ts'

export interface RelayParts {
  readonly primary: Primary
  /** Known once the database is open. */
  readonly key: () => MarkKey
  /** Id of this process. */
  readonly server: string
  readonly clock: Clock
}

/** Answers with the primary's answer. Throws PrimaryAway, PrimaryBusy or RelayUnknown. */
export type RelayRequest = (request: RequestContext) => Promise<Reply>

/** Of HEAD the empty stream is given: without one the router would send a length of 0 in place of the primary's. */
const hasNoBody = (method: string, status: number): boolean => method !== 'HEAD' && (status === 204 || status === 304)

export const createRelay =
  ({ primary, key, server, clock }: RelayParts): RelayRequest =>
  async (request) => {
    const { method, id, url: path, address, signal } = request
    const headers: PassedHeaders = headersToSend(request.headers)
    headers['x-request-id'] = id
    headers[RELAY_HEADER] = makeMark(key(), { server, at: clock.now(), address }, { method, url: path, id })
    const body = request.body?.take()
    try {
      const answer = await primary.ask({ method, path, headers, body, signal })
      request.markSent()
      const isEmpty = hasNoBody(method, answer.status)
      if (isEmpty) answer.body.resume()
      const { status } = answer
      return { status, headers: headersToReturn(answer.headers), ...(!isEmpty && { body: answer.body }) }
    } catch (error) {
      // The connection is the answer's: what the client still sends is read and discarded.
      body?.destroy()
      throw error
    }
  }

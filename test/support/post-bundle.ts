/** Posts a batch or transaction Bundle, and fails unless it was performed. Returns the answer. */
import type { LightMyRequestResponse } from 'fastify'
import * as assert from 'uvu/assert'
import type { AnsweringServer } from './server-with.ts'

export const postBundle = async (
  server: AnsweringServer,
  type: 'batch' | 'transaction',
  entry: readonly object[],
): Promise<LightMyRequestResponse> => {
  const answer = await server.inject({
    method: 'POST',
    url: '/',
    headers: { 'content-type': 'application/fhir+json' },
    payload: JSON.stringify({ resourceType: 'Bundle', type, entry }),
  })
  assert.is(answer.statusCode, 200, answer.body)
  return answer
}

export const postTransaction = (server: AnsweringServer, entry: readonly object[]): Promise<LightMyRequestResponse> =>
  postBundle(server, 'transaction', entry)

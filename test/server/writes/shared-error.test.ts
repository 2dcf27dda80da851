/** One error object may refuse several requests, for example those whose connection is lost together: none gets what belongs to another. */
// database: sqlite, because the error comes from a plugin, and its answers are made in the process
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { defineError, definePlugin } from '../../../kernel/index.ts'
import { basic, serverWith } from '../../support/server-with.ts'

const FHIR = { 'content-type': 'application/fhir+json' }
const Lost = defineError('listener/lost', 503, 'transient', 'The connection was lost.')
const shared = Lost()
const failing = definePlugin({
  name: 'listener',
  setup({ hooks }) {
    hooks.onWrite.tap('fail', () => {
      throw shared
    })
  },
})

test('an entry of a Bundle does not appear in the answer to another request', async () => {
  const server = await serverWith({
    plugins: [...basic, failing],
    settings: { conformance: { update_as_create: true } },
  })
  const put = (id: string) => ({
    resource: { resourceType: 'Patient', id },
    request: { method: 'PUT', url: `Patient/${id}` },
  })
  const send = async (method: 'POST' | 'PUT', url: string, payload: object) => {
    const answer = await server.inject({ method, url, headers: FHIR, payload: JSON.stringify(payload) })
    assert.is(answer.statusCode, 503, answer.body)
    return answer.json().issue[0].expression as readonly string[] | undefined
  }
  const bundle = (...ids: readonly string[]) => ({ resourceType: 'Bundle', type: 'transaction', entry: ids.map(put) })
  assert.equal(await send('POST', '/', bundle('a', 'b')), ['Bundle.entry[0]'])
  assert.is(await send('PUT', '/Patient/c', put('c').resource), undefined)
  assert.equal(await send('POST', '/', bundle('d')), ['Bundle.entry[0]'])
  assert.equal(shared.extras, {})
  await server.stop()
})

test.run()

/** examples/relay-plugin.ts over HTTP, with an archive of the test's own. */
import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import relayPlugin from '../../examples/relay-plugin.ts'
import { kernelWith } from '../support/kernel-with.ts'

const serving = async (url?: string) => {
  const settings = { server: { bind: '127.0.0.1:0' }, ...(url && { archive: { url } }) }
  const { kernel } = await kernelWith([relayPlugin], { settings })
  const address = await kernel.listen()
  await kernel.start()
  return { kernel, documents: `${address}/_documents` }
}

const archive = async () => {
  const asked: IncomingHttpHeaders[] = []
  const server = createServer((request, response) => {
    asked.push(request.headers)
    response.writeHead(201, { 'set-cookie': ['a=1', 'b=2'], location: '/documents/1', 'x-inside': 'not for clients' })
    request.pipe(response)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  return { server, asked, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/documents` }
}

test('a document goes to the archive and the answer comes back, with its cookies and without the rest', async () => {
  const { server, asked, url } = await archive()
  const { kernel, documents } = await serving(url)
  const body = 'x'.repeat(1_000_000)
  const headers = { 'content-type': 'application/pdf', authorization: 'Bearer for-us-alone' }
  const answer = await fetch(documents, { method: 'POST', headers, body })
  assert.equal([answer.status, answer.headers.get('location')], [201, '/documents/1'])
  assert.equal(answer.headers.getSetCookie(), ['a=1', 'b=2'])
  assert.is(answer.headers.get('x-inside'), null)
  assert.is(await answer.text(), body)
  assert.equal([asked[0]!['content-type'], asked[0]!.authorization], ['application/pdf', undefined])
  await kernel.stop()
  server.closeAllConnections()
  server.close()
})

test('an archive that is away is 503, and so is a server without one', async () => {
  const { server, url } = await archive()
  server.close()
  for (const [place, said] of [
    [url, 'The archive cannot be reached'],
    [undefined, 'This server has no archive'],
  ] as const) {
    const { kernel, documents } = await serving(place)
    for (const method of ['GET', 'POST']) {
      const answer = await fetch(documents, { method, ...(method === 'POST' && { body: 'document' }) })
      assert.is(answer.status, 503)
      assert.match(await answer.text(), said)
    }
    await kernel.stop()
  }
})

test.run()

/** What ends a connection behind a change: the answer to the change is sent first, and both are in the audit trail. */
// database: sqlite, because the order on a connection does not depend on the database
import { once } from 'node:events'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { openSocket, readAnswers } from '../../support/raw-http.ts'
import { until } from '../../support/until.ts'
import { audited, eventsOf } from './audited.ts'

const HOST = 'host: a\r\n'
const FHIR = 'content-type: application/fhir+json\r\n'

const sending = (method: string, url: string, resource: object, more = ''): string => {
  const body = JSON.stringify(resource)
  return `${method} ${url} HTTP/1.1\r\n${HOST}${FHIR}content-length: ${body.length}\r\n\r\n${body}${more}`
}
const create = (family: string): string => sending('POST', '/Patient', { resourceType: 'Patient', name: [{ family }] })

/** What follows, and the status with which it is refused; none where the client only ends its side. */
const FOLLOWING: readonly (readonly [what: string, bytes: string, status: number | undefined])[] = [
  ['a byte too many', '}', 400],
  ['a line break and text', '\r\ngarbage garbage\r\n\r\n', 400],
  ['a line that is none', `GET /x y z HTTP/1.1\r\n${HOST}\r\n`, 400],
  ['a header that is none', `GET /livez HTTP/1.1\r\n${HOST}A B: c\r\n\r\n`, 400],
  ['an unknown method', `FOO / HTTP/1.1\r\n${HOST}\r\n`, 400],
  ['two framings', `POST /Patient HTTP/1.1\r\n${HOST}content-length: 3\r\ntransfer-encoding: chunked\r\n\r\nabc`, 400],
  ['a broken chunk', `POST /Patient HTTP/1.1\r\n${HOST}${FHIR}transfer-encoding: chunked\r\n\r\nxyz\r\n`, 400],
  ['a head of 100 kB', `GET / HTTP/1.1\r\n${HOST}x: ${'a'.repeat(100_000)}\r\n\r\n`, 431],
  ['CONNECT', `CONNECT a:80 HTTP/1.1\r\nhost: a:80\r\n\r\n`, 405],
  ['an expectation', `POST /Patient HTTP/1.1\r\n${HOST}expect: foo\r\ncontent-length: 1\r\n\r\na`, 417],
  ['the end of the client', '', undefined],
]

/** All that the server sends until it closes the connection. */
const answersTo = async (base: string, bytes: string): Promise<readonly number[]> => {
  const socket = await openSocket(base)
  let text = ''
  socket.on('data', (chunk) => {
    text += chunk.toString('latin1')
  })
  if (bytes.endsWith('\0')) socket.end(bytes.slice(0, -1))
  else socket.write(bytes)
  await once(socket, 'close')
  return readAnswers(text).map(({ statusCode }) => statusCode)
}

test('an answer to a change goes out before the refusal of what follows it, and each has its event', async () => {
  const server = await audited({ settings: { server: { bind: '127.0.0.1:0' }, audit: { unattributed_per_second: 0 } } })
  const base = await server.listen()
  let changes = 0
  let refusals = 0
  const total = async (): Promise<number> =>
    ((await server.inject('/Patient?_summary=count')).json() as { total: number }).total
  for (const [what, bytes, status] of FOLLOWING)
    for (const before of [1, 2]) {
      const changed = Array.from({ length: before }, (_, n) => create(`${what} ${n}`)).join('')
      const end = status === undefined ? '\0' : ''
      const expected = [...Array<number>(before).fill(201), ...(status === undefined ? [] : [status])]
      assert.equal(await answersTo(base, changed + bytes + end), expected, `${what} behind ${before}`)
      changes += before
      if (status !== undefined) refusals += 1
      assert.is(await total(), changes, what)
    }
  const refusedEvents = async (): Promise<number> =>
    (await eventsOf(server, 'outcome=4&_count=1000')).filter(({ subtype }) => subtype[0]?.code === 'request').length
  await until(async () => (await refusedEvents()) >= refusals, 5_000, `${refusals} events of refusals`)
  assert.is(await refusedEvents(), refusals)
  await server.stop()
})

test('other changes are answered first, too', async () => {
  const server = await audited({
    settings: { server: { bind: '127.0.0.1:0' }, conformance: { update_as_create: true } },
  })
  const base = await server.listen()
  const patient = { resourceType: 'Patient', id: 'p1' }
  const entry = [{ resource: { resourceType: 'Patient' }, request: { method: 'POST', url: 'Patient' } }]
  for (const [bytes, status] of [
    [sending('PUT', '/Patient/p1', patient), 201],
    [sending('PUT', '/Patient/p1', { ...patient, active: true }), 200],
    [sending('POST', '/', { resourceType: 'Bundle', type: 'transaction', entry }), 200],
    [sending('POST', '/', { resourceType: 'Bundle', type: 'batch', entry }), 200],
    [`GET /Patient/p1 HTTP/1.1\r\n${HOST}\r\n`, 200],
    [`GET /metadata HTTP/1.1\r\n${HOST}\r\n`, 200],
    [`DELETE /Patient/p1 HTTP/1.1\r\n${HOST}\r\n`, 204],
  ] as const)
    assert.equal(await answersTo(base, `${bytes}garbage\r\n\r\n`), [status, 400], bytes.slice(0, 20))
  await server.stop()
})

test.run()

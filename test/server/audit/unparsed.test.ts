/** What Node's parser refuses is no request yet, and leaves an event all the same. */
// database: sqlite, because what is refused before it is a request does not depend on the database
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { connectTo } from '../../support/raw-client.ts'
import { exchange } from '../../support/raw-http.ts'
import { until } from '../../support/until.ts'
import { type AuditEvent, audited, eventsOf } from './audited.ts'

const HOST = 'host: a\r\n'
const long = (bytes: number): string => 'x'.repeat(bytes)

/** Bytes, the status they are answered with, action and resource of the event. */
const REFUSED: readonly (readonly [what: string, bytes: string, status: number, line: string])[] = [
  ['a URL of 70 kB', `GET /Patient/${long(70_000)} HTTP/1.1\r\n${HOST}\r\n`, 431, ''],
  ['a header of 100 kB', `GET /Patient/a HTTP/1.1\r\n${HOST}x-long: ${long(100_000)}\r\n\r\n`, 431, ''],
  ['a header line that is none', `PUT /Patient/a HTTP/1.1\r\n${HOST}no colon\r\n\r\n`, 400, 'U Patient/a'],
  ['an unknown method', `FOO /Patient/a HTTP/1.1\r\n${HOST}\r\n`, 400, 'E Patient/a'],
  ['no HTTP at all', '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n', 400, 'E'],
  ['Expect', `GET /Patient/a HTTP/1.1\r\n${HOST}expect: wonders\r\n\r\n`, 417, 'R Patient/a'],
  ['CONNECT', `CONNECT a:443 HTTP/1.1\r\n${HOST}\r\n`, 405, 'E'],
  [
    'Content-Length with Transfer-Encoding',
    `POST /Patient HTTP/1.1\r\n${HOST}content-length: 3\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n`,
    400,
    'C',
  ],
]

const toLine = ({ action, entity = [] }: AuditEvent): string => {
  const what = entity.find(({ role }) => role?.code === '4')?.what?.reference
  return what === undefined ? action : `${action} ${what}`
}
const refusalsOf = async (server: Parameters<typeof eventsOf>[0]) =>
  (await eventsOf(server, 'outcome=4')).filter(({ subtype }) => subtype[0]?.code === 'request')

test('each refusal of the parser leaves one event, with what could be read of the request line', async () => {
  const server = await audited({ settings: { server: { bind: '127.0.0.1:0' }, audit: { unattributed_per_second: 0 } } })
  const address = await server.listen()
  for (const [at, [what, bytes, status, line]] of REFUSED.entries()) {
    const { answers } = await exchange(address, bytes)
    assert.is(answers.at(-1)?.statusCode, status, what)
    await until(async () => (await refusalsOf(server)).length > at, 5_000, `the event of ${what}`)
    const events = await refusalsOf(server)
    assert.is(events.length, at + 1, what)
    const event = events.at(-1) as AuditEvent & { outcomeDesc: string }
    assert.is(event.outcomeDesc, `HTTP ${status}`, what)
    assert.is(event.agent[1]?.network?.address, '127.0.0.1', what)
    // In which piece the head of a large one breaks off is the network's.
    if (line !== '') assert.is(toLine(event), line, what)
  }
  await server.stop()
})

test('a connection that had an answer before leaves the event of the request that broke off', async () => {
  const server = await audited({ settings: { server: { bind: '127.0.0.1:0' } } })
  const client = await connectTo(await server.listen())
  client.send(`GET /livez HTTP/1.1\r\n${HOST}\r\n`)
  await client.until('200 OK')
  client.send(`DELETE /Patient/b HTTP/1.1\r\n${HOST}no colon\r\n\r\n`)
  assert.match(await client.closed, /HTTP\/1\.1 400/)
  await until(async () => (await refusalsOf(server)).length > 0, 5_000, 'the event')
  assert.equal((await refusalsOf(server)).map(toLine), ['D Patient/b'])
  await server.stop()
})

test('those of one address are told one by one so many in a second, and summed up beyond that', async () => {
  const server = await audited({ settings: { server: { bind: '127.0.0.1:0' }, audit: { unattributed_per_second: 1 } } })
  const address = await server.listen()
  const MANY = 12
  await Promise.all(Array.from({ length: MANY }, () => exchange(address, `FOO / HTTP/1.1\r\n${HOST}\r\n`)))
  const count = async (): Promise<number> => {
    let counted = 0
    for (const { subtype, entity = [] } of await eventsOf(server)) {
      const code = subtype[0]?.code
      if (code === 'request') counted += 1
      if (code === 'sampled') counted += Number(entity.flatMap(({ detail = [] }) => detail)[0]?.valueString)
    }
    return counted
  }
  await until(async () => (await count()) === MANY, 5_000, 'all of them')
  assert.ok((await refusalsOf(server)).length < MANY)
  await server.stop()
})

test('a connection that says nothing leaves no event', async () => {
  const server = await audited({
    settings: { server: { bind: '127.0.0.1:0' } },
    limits: { headersMs: 50, requestMs: 100, checkMs: 25 },
  })
  const address = await server.listen()
  await exchange(address, '')
  await exchange(address, 'GET /Patient/a HTTP/1.1\r\n')
  await until(async () => (await refusalsOf(server)).length > 0, 5_000, 'the event of half a head')
  assert.equal(
    (await refusalsOf(server)).map((event) => (event as unknown as { outcomeDesc: string }).outcomeDesc),
    ['HTTP 408'],
  )
  await server.stop()
})

test.run()

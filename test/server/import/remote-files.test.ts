/** $import from hosts: which answers are read, where redirects lead, and which addresses are not connected to. */
// database: sqlite, because what is read from hosts is stored as import/import.test.ts stores it on each kind
// waits: for hosts that do not answer
import { once } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { createServer, type Server } from 'node:https'
import type { AddressInfo } from 'node:net'
import { getCACertificates, setDefaultCACertificates } from 'node:tls'
import { gzipSync } from 'node:zlib'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { createAuthority } from '../../support/certificates.ts'
import { named } from '../../support/named-callers.ts'
import { until } from '../../support/until.ts'
import { type ImportClinic, importClinic, type Json, lines, pathOf, patient, toParameters } from './import-clinic.ts'

type Answer = (request: IncomingMessage, response: ServerResponse) => void

const known = getCACertificates('default')
const answers = new Map<string, Answer>()
let host: Server
let base: string
let asked: string[] = []
let clinic: ImportClinic

test.before(async () => {
  const ca = await createAuthority('Test CA')
  const { certificate, key } = await ca.issue({ cn: 'localhost', dns: ['localhost'], ip: ['127.0.0.1'] })
  setDefaultCACertificates([...known, ca.certificate])
  host = createServer({ cert: certificate, key }, (request, response) => {
    const { url = '' } = request
    asked.push(url)
    const answer = answers.get(url.split('?')[0] as string)
    if (answer !== undefined) answer(request, response)
    else response.writeHead(404).end()
  })
  host.listen(0)
  await once(host, 'listening')
  base = `https://localhost:${(host.address() as AddressInfo).port}`
  clinic = await importClinic({
    sources: [`${base}/files/`, base.replace('localhost', '127.0.0.1')],
    insideHosts: ['localhost'],
    settings: { import: { max_file_bytes: 100_000 } },
  })
})
test.before.each(() => {
  asked = []
  answers.clear()
})
test.after(async () => {
  await clinic.stop()
  host.closeAllConnections()
  host.close()
  setDefaultCACertificates(known)
})

const sends =
  (body: string | Buffer, headers: Record<string, string> = {}): Answer =>
  (_request, response) =>
    void response.writeHead(200, { 'content-type': 'application/fhir+ndjson', ...headers }).end(body)
const redirects =
  (to: string): Answer =>
  (_request, response) =>
    void response.writeHead(302, { location: to }).end()

/** Counts of what was stored, and the first message of what was refused. */
const run = async (...paths: readonly string[]): Promise<{ stored: number; refused: string; code: string }> => {
  const inputs = paths.map((path) => ({ type: 'Patient', url: path.startsWith('https') ? path : `${base}${path}` }))
  const { status, json, text } = await clinic.run(inputs)
  assert.is(status, 200, text)
  const [error] = json.error.length === 0 ? [] : await clinic.errors(json.error[0].url)
  const stored = json.output.reduce((sum: number, { count }: Json) => sum + count, 0)
  return { stored, refused: error?.issue[0].diagnostics ?? '', code: error?.issue[0].code ?? '' }
}

test('NDJSON is fetched as it is, as gzip, and with Content-Encoding', async () => {
  answers.set('/files/plain', sends(lines(patient('r1'), patient('r2'))))
  answers.set('/files/p.ndjson.gz', sends(gzipSync(lines(patient('r3')))))
  answers.set('/files/encoded', sends(gzipSync(lines(patient('r4'))), { 'content-encoding': 'gzip' }))
  answers.set('/files/both.gz', sends(gzipSync(gzipSync(lines(patient('r5')))), { 'content-encoding': 'gzip' }))
  answers.set('/files/empty', sends(''))
  const { stored, refused } = await run(
    ...['plain?key=secret', 'p.ndjson.gz', 'encoded', 'both.gz', 'empty'].map((one) => `/files/${one}`),
  )
  assert.is(refused, '')
  assert.is(stored, 5)
  assert.ok(asked.includes('/files/plain?key=secret'))
})

test('a refused line is named without the query of its URL', async () => {
  answers.set('/files/bad', sends('{"resourceType":"Nonsense"}\n'))
  const { refused } = await run('/files/bad?key=secret')
  assert.match(refused, /\/files\/bad:1: /)
  assert.not.match(refused, /secret/)
})

test('a redirect is followed to what is listed, and nowhere else', async () => {
  answers.set('/files/here', redirects('/files/there'))
  answers.set('/files/there', sends(lines(patient('there'))))
  assert.is((await run('/files/here')).stored, 1)
  for (const to of [
    '/outside',
    'https://elsewhere.example.org/files/p',
    'http://localhost/files/p',
    'file:///etc/passwd',
  ]) {
    answers.set('/files/away', redirects(to))
    answers.set('/outside', sends(lines(patient('outside'))))
    const { stored, refused } = await run('/files/away')
    assert.is(stored, 0)
    assert.match(refused, /files\/away: /)
  }
  assert.not.ok(asked.includes('/outside'))
  answers.set('/files/loop', redirects('/files/loop'))
  assert.match((await run('/files/loop')).refused, /redirects too often/)
})

test('an address that is not public is not connected to, unless the host is named', async () => {
  answers.set('/files/p', sends(lines(patient('inside'))))
  const { stored, code } = await run(`${base.replace('localhost', '127.0.0.1')}/files/p`)
  assert.is(stored, 0)
  assert.is(code, 'forbidden')
  assert.equal(asked, [])
})

test('what a host says is wrong, or too much, is told; other files are stored', async () => {
  answers.set('/files/large', sends(`${JSON.stringify(patient('early'))}\n${' '.repeat(200_000)}`))
  answers.set('/files/bomb', sends(gzipSync(`${'\n'.repeat(200_000)}`)))
  answers.set('/files/cut', sends(gzipSync(lines(patient('c1'), patient('c2'))).subarray(0, 30)))
  answers.set('/files/good', sends(lines(patient('good'))))
  assert.match((await run('/files/missing')).refused, /status 404/)
  assert.match((await run('/files/large')).refused, /more than 100000 bytes/)
  assert.match((await run('/files/bomb')).refused, /more than 100000 bytes/)
  const { stored, refused } = await run('/files/cut', '/files/good')
  assert.is(stored, 1)
  assert.match(refused, /files\/cut.*cannot be read/)
})

test('a host that fails is asked again, and the file goes on where it was', async () => {
  let tries = 0
  const all = Array.from({ length: 120 }, () => patient(undefined, { gender: 'other' }))
  answers.set('/files/flaky', (_request, response) => {
    tries += 1
    const body = lines(...all)
    if (tries === 1) return void response.writeHead(503).end()
    response.writeHead(200, { etag: '"1"', 'content-length': String(Buffer.byteLength(body)) })
    if (tries === 2) {
      response.write(body.slice(0, Math.floor(body.length * 0.7)))
      const isStored = async () => (await clinic.ask('GET', '/Patient?gender=other&_summary=count')).json.total > 0
      void until(isStored, 10_000, 'a batch to be stored').then(() => response.destroy())
    } else response.end(body)
  })
  const { stored } = await run('/files/flaky')
  assert.is(tries, 3)
  assert.is(stored, 120)
  assert.is((await clinic.ask('GET', '/Patient?gender=other&_summary=count')).json.total, 120)
})

test('a file that has changed between two tries is not mixed with what it was', async () => {
  let tries = 0
  answers.set('/files/changing', (_request, response) => {
    tries += 1
    const body = lines(...Array.from({ length: 120 }, (_, at) => patient(`t${tries}-${at}`)))
    response.writeHead(200, { etag: `"${tries}"` })
    if (tries > 1) return void response.end(body)
    response.write(body.slice(0, Math.floor(body.length * 0.7)))
    const isStored = async () => (await clinic.ask('GET', '/Patient/t1-0')).status === 200
    void until(isStored, 10_000, 'a batch to be stored').then(() => response.destroy())
  })
  const { refused } = await run('/files/changing')
  assert.match(refused, /has changed/)
  assert.is((await clinic.ask('GET', '/Patient/t2-0')).status, 404)
})

test('others see nothing of an import; two of a caller run at a time; DELETE ends it while its host is silent', async () => {
  const place = await importClinic({ more: [named], sources: [`${base}/files/`], insideHosts: ['localhost'] })
  const own = { 'x-test-client': 'a', 'x-test-user': 'Practitioner/1' }
  const { promise: left, resolve: leave } = Promise.withResolvers<void>()
  answers.set('/files/silent', (_request, response) => {
    response.on('close', leave)
    response.writeHead(200).write(`${JSON.stringify(patient('early'))}\n`)
  })
  answers.set('/files/other', sends(lines(patient('other'))))
  const kick = (path: string) =>
    place.ask('POST', '/$import', toParameters([{ type: 'Patient', url: `${base}${path}` }]), own)
  const first = pathOf((await kick('/files/silent')).headers['content-location'])
  await until(() => asked.includes('/files/silent'), 10_000, 'the import to be at work')
  const running = await place.ask('GET', first, undefined, own)
  assert.is(running.status, 202)
  assert.ok(running.headers['x-progress'].length < 100)
  assert.ok(Number(running.headers['retry-after']) >= 1)
  assert.is((await place.ask('GET', first, undefined, own)).status, 429)
  const second = pathOf((await kick('/files/other')).headers['content-location'])
  const third = await kick('/files/other')
  assert.is(third.status, 429)
  assert.ok(Number(third.headers['retry-after']) > 0)
  for (const other of [{ 'x-test-client': 'b' }, { ...own, 'x-test-user': 'Practitioner/2' }, { 'x-test-client': 'a' }])
    for (const [method, path] of [
      ['GET', first],
      ['GET', `${first}/errors`],
      ['DELETE', first],
    ] as const)
      assert.is((await place.ask(method, path, undefined, other as Record<string, string>)).status, 404)
  assert.is((await place.ask('DELETE', first, undefined, own)).status, 202)
  await left
  for (const method of ['GET', 'DELETE']) assert.is((await place.ask(method, first, undefined, own)).status, 404)
  assert.is((await place.end(second, own)).status, 200)
  assert.is((await place.ask('GET', '/Patient/other', undefined, own)).status, 200)
  await place.stop()
})

test.run()

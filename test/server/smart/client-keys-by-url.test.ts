/** Keys of clients that are fetched from the URL that was registered: when, how often, and from where not. */
// database: sqlite, because keys that are fetched are kept in the process
import { once } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { createServer, type Server } from 'node:https'
import type { AddressInfo } from 'node:net'
import { hostname } from 'node:os'
import { getCACertificates, setDefaultCACertificates } from 'node:tls'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { systemClock } from '../../../kernel/index.ts'
import { createFetchJwks } from '../../../plugins/smart/client-auth/fetch-jwks.ts'
import { createAuthority } from '../../support/certificates.ts'
import { createManualClock } from '../../support/manual-clock.ts'
import type { TestServer } from '../../support/server-with.ts'
import {
  askToken,
  assertionOf,
  registerService,
  type Service,
  type SigningKey,
  signingKey,
  smartServer,
} from '../../support/smart-server.ts'

type Answer = (request: IncomingMessage, response: ServerResponse) => void

const clock = createManualClock(Date.now())
const known = getCACertificates('default')
let host: Server
let port: number
let server: TestServer
let requests: string[] = []
let connections = 0
let answer: Answer

const jwksOf =
  (keys: readonly SigningKey[], cacheControl = 'max-age=60'): Answer =>
  (_request, response) => {
    response.writeHead(200, { 'content-type': 'application/json', 'cache-control': cacheControl })
    response.end(JSON.stringify({ keys: keys.map(({ jwk }) => jwk) }))
  }

test.before(async () => {
  const ca = await createAuthority('Test CA')
  const { certificate, key } = await ca.issue({ cn: 'localhost', dns: ['localhost'] })
  setDefaultCACertificates([...known, ca.certificate])
  host = createServer({ cert: certificate, key }, (request, response) => {
    requests.push(request.url ?? '')
    answer(request, response)
  })
  host.on('connection', () => {
    connections += 1
  })
  host.listen(0)
  await once(host, 'listening')
  port = (host.address() as AddressInfo).port
  server = await smartServer({
    clock,
    smart: { inside_jwks_hosts: ['localhost', '127.0.0.1'] },
    settings: { rate_limit: { auth_failures_per_minute: 10_000, requests_per_second: 1e6, burst: 1e6 } },
  })
})
test.before.each(() => {
  requests = []
  connections = 0
})
test.after(async () => {
  await server.stop()
  host.closeAllConnections()
  host.close()
  setDefaultCACertificates(known)
})

let paths = 0
/** A service whose keys are at a URL that nobody has asked yet. */
const serviceAt = async (key: SigningKey): Promise<Service & { readonly uri: string }> => {
  paths += 1
  const uri = `https://localhost:${port}/jwks/${paths}`
  return { ...(await registerService(server, { key, jwks_uri: uri })), uri }
}
const ask = async (service: Service, head: object = {}) =>
  (await askToken(server, await assertionOf(service, { now: clock.now(), head }))).statusCode

test('keys by URL are used, kept as long as their sender allows, and fetched once by many', async () => {
  for (const alg of ['RS384', 'ES384'] as const) {
    requests = []
    const service = await serviceAt(await signingKey(alg))
    answer = jwksOf([service.key])
    const all = await Promise.all(Array.from({ length: 10 }, () => ask(service)))
    assert.ok(
      all.every((status) => status === 200),
      String(all),
    )
    assert.is(requests.length, 1)
    await clock.advance(59_000)
    assert.is(await ask(service), 200)
    assert.is(requests.length, 1)
    await clock.advance(2_000)
    assert.is(await ask(service), 200)
    assert.is(requests.length, 2)
  }
})

test('what may not be kept is fetched each time', async () => {
  const service = await serviceAt(await signingKey())
  answer = jwksOf([service.key], 'no-store')
  assert.equal([await ask(service), await ask(service)], [200, 200])
  assert.is(requests.length, 2)
})

test('an unknown kid asks again, at most every ten seconds', async () => {
  const service = await serviceAt(await signingKey())
  const rotated = { id: service.id, key: await signingKey() }
  answer = jwksOf([service.key], 'max-age=3600')
  assert.is(await ask(service), 200)
  answer = jwksOf([service.key, rotated.key], 'max-age=3600')
  assert.is(await ask(rotated), 401)
  assert.is(requests.length, 1)
  await clock.advance(10_000)
  assert.is(await ask(rotated), 200)
  assert.is(requests.length, 2)
})

test('jku names the registered URL or is refused without a request', async () => {
  const service = await serviceAt(await signingKey())
  answer = jwksOf([service.key])
  assert.is(await ask(service, { jku: `https://localhost:${port}/jwks/other` }), 401)
  assert.is(requests.length, 0)
  assert.is(await ask(service, { jku: service.uri }), 200)
})

test('answers that are no keys are refused', async () => {
  const answers: readonly (readonly [string, Answer])[] = [
    ['10 MB', (_request, response) => void response.end(Buffer.alloc(10_000_000, 32))],
    ['no JSON', (_request, response) => void response.end('<html>')],
    ['404', (_request, response) => void response.writeHead(404).end('{"keys":[]}')],
    ['a redirect', (_request, response) => void response.writeHead(302, { location: '/jwks/good' }).end()],
    ['no keys', (_request, response) => void response.end('{"keys":[]}')],
    ['cut', (_request, response) => void response.destroy()],
  ]
  for (const [about, one] of answers) {
    const service = await serviceAt(await signingKey())
    requests = []
    answer = one
    assert.is(await ask(service), 401, about)
    assert.is(requests.length, 1, about)
    answer = jwksOf([service.key])
    assert.is(await ask(service), 401, `${about}: not asked again at once`)
    await clock.advance(10_000)
    assert.is(await ask(service), 200, about)
  }
})

test('a slow answer is given up, and others are served meanwhile', async () => {
  const service = await serviceAt(await signingKey())
  const { promise: arrived, resolve: asked } = Promise.withResolvers<void>()
  answer = () => asked()
  const waiting = ask(service)
  await arrived
  assert.is((await server.inject('/metadata')).statusCode, 200)
  await clock.advance(5_000)
  assert.is(await waiting, 401)
})

test('a certificate of another host is refused', async () => {
  answer = jwksOf([await signingKey()])
  const fetchJwks = createFetchJwks(new Set(['127.0.0.1']), systemClock.deadline)
  await rejects(fetchJwks(`https://127.0.0.1:${port}/jwks`))
  assert.is(requests.length, 0)
})

test('no connection is opened to an address that is not public, whatever name leads there', async () => {
  const fetchJwks = createFetchJwks(new Set(), systemClock.deadline)
  for (const name of ['localhost', '127.0.0.1', '[::1]', hostname(), 'ip6-localhost', '2130706433'])
    await rejects(fetchJwks(`https://${name}:${port}/jwks`))
  assert.is(connections, 0)
})

const rejects = async (work: Promise<unknown>): Promise<void> => {
  const failed = await work.then(
    () => false,
    () => true,
  )
  assert.ok(failed)
}

test.run()

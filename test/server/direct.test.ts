/**
 * A read or a search that is answered in front of the router is answered as the router would have it: byte for byte, with
 * the same fact for the trail, the same line in the log and the same usage. Two servers with the same data are asked the
 * same; one of them has no direct way.
 */
// database: memory
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { type AnyPlugin, defineError, definePlugin, type Hooks, type RequestContext } from '../../kernel/index.ts'
import audit from '../../plugins/audit/index.ts'
import database from '../../plugins/database/index.ts'
import limits from '../../plugins/limits/index.ts'
import requestLog from '../../plugins/request-log/index.ts'
import { fhirPlugins } from '../support/fhir-plugins.ts'
import { createManualClock } from '../support/manual-clock.ts'
import { exchange } from '../support/raw-http.ts'
import { inCompartment, onlyTypes } from '../support/restrictions.ts'
import { serverWith, type TestServer } from '../support/server-with.ts'
import { stubDefinitions } from '../support/stub-definitions.ts'
import { until } from '../support/until.ts'

const basic = [
  database,
  stubDefinitions(
    [
      ...['Patient', 'HumanName', 'Observation', 'Binary', 'AuditEvent'],
      // For answers in XML.
      ...['Bundle', 'OperationOutcome', 'Meta', 'string', 'id', 'instant', 'code', 'uri', 'unsignedInt', 'integer'],
    ],
    /^SearchParameter-individual-family/,
  ),
  ...fhirPlugins,
]

/** Takes addresses that nobody asks for, of which the kernel cannot tell which they are: so the router is always asked. */
const noDirectWay = definePlugin({
  name: 'no-direct-way',
  setup({ routes }) {
    routes((app, _options, done) => {
      app.get('/never-asked*', async () => '')
      done()
    })
  },
})

interface Witness {
  readonly plugin: AnyPlugin
  /** What hooks were told, without what differs from one request to the next of the same. */
  readonly told: unknown[]
  /** Which way each request took to `admit`. */
  readonly ways: string[]
}

const createWitness = (): Witness => {
  const told: unknown[] = []
  const ways: string[] = []
  const plugin = definePlugin({
    name: 'witness',
    setup({ hooks }) {
      hooks.admit.tap('see the way', () => {
        ways.push(/kernel\/direct-router\.ts/.test(new Error().stack ?? '') ? 'direct' : 'usual')
        return undefined
      })
      hooks.onAudit.tap('see', ({ request, interaction, status, version, details }) => {
        told.push({ fact: interaction, status, version, patients: details?.patients?.(), address: request.address })
      })
      hooks.meter.tap('see', ({ request, status, bytesIn, bytesOut, duration }) => {
        const { method, url, route, requestClass, address, baseUrl, caller, startedAt } = request
        const id = request.id.length === 36 ? 'made' : request.id
        told.push({ method, url, route, requestClass, address, baseUrl, caller, startedAt, id })
        told.push({ status, bytesIn, bytesOut, duration })
      })
    },
  })
  return { plugin, told, ways }
}

interface Side extends Witness {
  /** Lines of the log that were written before anything was asked. */
  readonly from: number
  readonly server: TestServer
  readonly address: string
}

type Tap = (hooks: Hooks) => void

const FAR = { 'content-type': 'application/fhir+json' }
const put = async (server: TestServer, resource: { resourceType: string; id: string; [more: string]: unknown }) => {
  const { resourceType: type, id } = resource
  const { statusCode } = await server.inject({ method: 'PUT', url: `/${type}/${id}`, headers: FAR, payload: resource })
  assert.is(statusCode, 201)
}

const start = async (more: readonly AnyPlugin[], settings: Record<string, unknown>, tap?: Tap): Promise<Side> => {
  const witness = createWitness()
  const taps = definePlugin({ name: 'taps', setup: ({ hooks }) => tap?.(hooks) })
  const server = await serverWith({
    plugins: [...basic, ...more, requestLog, audit, witness.plugin, taps],
    settings: {
      server: { bind: '127.0.0.1:0', trusted_proxy_hops: 1, trusted_proxy_peers: ['127.0.0.0/8'] },
      database: { kind: 'memory' },
      conformance: { update_as_create: true },
      ...settings,
    },
    clock: createManualClock(),
  })
  await put(server, { resourceType: 'Patient', id: 'hot', name: [{ family: 'Ångström' }] })
  await put(server, { resourceType: 'Observation', id: 'o.1', status: 'final', code: { text: 'x' } })
  await put(server, { resourceType: 'Patient', id: 'long', name: [{ family: 'long'.repeat(1000) }] })
  await put(server, { resourceType: 'Patient', id: 'gone' })
  await put(server, { resourceType: 'Patient', id: 'cold' })
  await put(server, { resourceType: 'Binary', id: 'b', contentType: 'text/plain', data: 'aGVsbG8=' })
  // Met twice, everything but the cold one is in memory.
  for (let time = 0; time < 3; time += 1)
    for (const path of ['Patient/hot', 'Observation/o.1', 'Patient/long', 'Patient/gone', 'Binary/b'])
      await server.inject({ url: `/${path}`, headers: { 'x-forwarded-for': '10.9.9.9' } })
  await server.inject({ method: 'DELETE', url: '/Patient/gone', headers: { 'x-forwarded-for': '10.9.9.9' } })
  const address = await server.listen()
  witness.told.length = 0
  witness.ways.length = 0
  return { ...witness, server, address, from: server.lines.length }
}

/** Both of them, with and without a direct way. */
const withBoth = async (
  work: (direct: Side, usual: Side) => Promise<void>,
  more: readonly AnyPlugin[] = [],
  settings: Record<string, unknown> = {},
  tap?: Tap,
): Promise<void> => {
  const sides = [await start(more, settings, tap), await start([...more, noDirectWay], settings, tap)] as const
  try {
    await work(...sides)
  } finally {
    for (const { server } of sides) await server.stop()
  }
}

const HEAD = 'host: a\r\n'
const UUID = /[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g

/** What came back, without what differs from one answer to the next of the same. */
const ask = async ({ address }: Side, bytes: string, answers: number): Promise<string> => {
  const { text } = await exchange(address, bytes, answers)
  return text.replace(/\r\nDate: [^\r]*/g, '').replace(UUID, '<id>')
}

const linesOf = ({ server, from }: Side): readonly unknown[] =>
  server.lines
    .slice(from)
    .filter(({ plugin, level }) => plugin === 'request-log' || level === 'error')
    // Where a fault was thrown differs; what it is does not.
    .map(({ request, err, time: _time, ...line }) => ({
      ...line,
      request: String(request).replace(UUID, '<id>'),
      err: (err as Error | undefined)?.message,
    }))

/** The same of both, answers and what was told of them; gives the ways of the direct side, and its answer. */
const compare = async (direct: Side, usual: Side, bytes: string, answers = 1) => {
  const charged = (side: Side): number => side.told.filter((one) => 'bytesIn' in (one as object)).length
  const before = charged(direct)
  direct.ways.length = 0
  const one = await ask(direct, bytes, answers)
  const other = await ask(usual, bytes, answers)
  assert.is(one, other, bytes)
  const count = before + answers
  for (const side of [direct, usual])
    await until(() => charged(side) >= count, 5_000, `usage of ${JSON.stringify(bytes)}`)
  assert.equal(direct.told, usual.told, bytes)
  assert.equal(linesOf(direct), linesOf(usual), bytes)
  return { ways: [...direct.ways], text: one }
}

const get = (path: string, headers = '', version = '1.1'): string =>
  `GET ${path} HTTP/${version}\r\n${HEAD}${headers}\r\n`

/** What is asked, and whether it is answered in front of the router. */
const TABLE: readonly (readonly [string, 'direct' | 'usual' | 'none'])[] = [
  [get('/Patient/hot'), 'direct'],
  [get('/Observation/o.1'), 'direct'],
  [get('/Patient/cold'), 'usual'],
  [get('/Patient/missing'), 'usual'],
  [get('/Nothing/hot'), 'usual'],
  [get('/patient/hot'), 'usual'],
  [get('/Patient'), 'usual'],
  [get('/'), 'usual'],
  [get('/Patient/hot/_history/1'), 'usual'],
  [get('/Patient/hot/_history'), 'usual'],
  [get('/Patient/hot/$meta'), 'usual'],
  [get('/metadata'), 'usual'],
  [get('/Patient/hot').replace('GET', 'HEAD'), 'usual'],
  [get('/Patient/hot').replace('GET', 'OPTIONS'), 'usual'],
  [get('/Patient/hot').replace('GET', 'DELETE').replace('hot', 'nobody'), 'usual'],
  [get('/Patient/hot?'), 'usual'],
  [get('/Patient/hot?_pretty=true'), 'usual'],
  [get('/Patient/hot?_format=xml'), 'usual'],
  [get('/Patient/hot?unknown=1'), 'usual'],
  [get('/Patient/hot/'), 'usual'],
  [get('//Patient/hot'), 'usual'],
  [get('/Patient//hot'), 'usual'],
  [get('/%50atient/hot'), 'usual'],
  [get('/Patient/h%6ft'), 'usual'],
  [get('/Patient/%ff'), 'none'],
  [get('/Patient/hot;x=1'), 'usual'],
  [get('/Patient/hot#x'), 'usual'],
  [get('/Patient/..'), 'usual'],
  [get(`/Patient/${'x'.repeat(65)}`), 'usual'],
  [get('http://a/Patient/hot'), 'usual'],
  [get('/Patient/hot', 'if-none-match: W/"1"\r\n'), 'direct'],
  [get('/Patient/hot', 'if-none-match: W/"2"\r\n'), 'direct'],
  [get('/Patient/hot', 'if-none-match: nonsense\r\n'), 'direct'],
  [get('/Patient/hot', 'if-modified-since: Thu, 15 Jan 2026 12:00:00 GMT\r\n'), 'direct'],
  [get('/Patient/hot', 'if-modified-since: Thu, 15 Jan 2015 12:00:00 GMT\r\n'), 'direct'],
  [get('/Patient/hot', 'accept: application/fhir+json\r\n'), 'direct'],
  [get('/Patient/hot', 'accept: text/html\r\n'), 'direct'],
  [get('/Patient/hot', 'accept: application/fhir+xml\r\n'), 'direct'],
  [get('/Patient/long', 'accept: application/fhir+xml\r\naccept-encoding: gzip\r\n'), 'direct'],
  [get('/Patient/gone', 'accept: text/xml\r\n'), 'direct'],
  [get('/Patient/hot?_format=xml'), 'usual'],
  [get('/Patient?_id=hot', 'accept: application/fhir+xml\r\n'), 'direct'],
  [get('/Patient/hot', 'accept: application/json;q=0.5, */*;q=0\r\n'), 'direct'],
  [get('/Patient/hot', 'accept: text/html\r\naccept: application/json\r\n'), 'direct'],
  [get('/Patient/hot', 'accept: application/fhir+json; fhirVersion=5.0\r\n'), 'direct'],
  [get('/Patient/hot', 'accept-version: 1.x\r\n'), 'direct'],
  [get('/Patient/hot', 'prefer: handling=lenient\r\n'), 'direct'],
  [get('/Patient/long'), 'direct'],
  [get('/Patient/long', 'accept-encoding: gzip\r\n'), 'direct'],
  [get('/Patient/long', 'accept-encoding: gzip;q=0\r\n'), 'direct'],
  [get('/Patient/hot', 'x-request-id: mine-1\r\n'), 'direct'],
  [get('/Patient/hot', 'x-request-id: "ill"\r\n'), 'direct'],
  [get('/Patient/hot', 'x-request-id: one\r\nx-request-id: two\r\n'), 'direct'],
  [get('/Patient/hot', 'x-forwarded-for: 10.0.0.1\r\n'), 'direct'],
  [get('/Patient/hot', 'x-forwarded-for: 10.0.0.1, 10.0.0.2\r\nx-forwarded-for: [2001:db8::7]:443\r\n'), 'direct'],
  [get('/Patient/hot', 'x-forwarded-for: nonsense\r\n'), 'direct'],
  [get('/Patient/hot', 'connection: close\r\n'), 'direct'],
  [get('/Patient/hot', '', '1.0'), 'direct'],
  [get('/Patient/hot', 'connection: keep-alive\r\n', '1.0'), 'direct'],
  [get('/Patient/hot', 'content-length: 5\r\n').concat('hello'), 'direct'],
  [get('/Patient/hot', 'transfer-encoding: chunked\r\n').concat('5\r\nhello\r\n0\r\n\r\n'), 'direct'],
  // Refused with the head, before anybody is asked who calls.
  [get('/Patient/hot', HEAD), 'none'],
  [get('/Patient/hot', 'authorization: a\r\nauthorization: b\r\n'), 'none'],
  [get('/Patient/hot', `x: ${'y'.repeat(20_000)}\r\n`), 'none'],
  [get('/Patient/hot', 'x: y\r\n'.repeat(300)), 'none'],
  [get('/Patient/hot').replace(HEAD, ''), 'none'],
  [get('/Patient/hot').replace('host: a', 'host: a b'), 'none'],
  [get('/Patient/gone'), 'direct'],
  [get('/Binary/b'), 'direct'],
  [get('/Binary/b', 'accept: text/plain\r\n'), 'direct'],
  [get('/Binary/b', 'accept: application/fhir+json\r\n'), 'direct'],
  [get('/Binary/b', 'accept: image/png\r\n'), 'direct'],
  [get('/Patient?_id=hot'), 'direct'],
  [get('/Patient?family=%C3%85ngstr%C3%B6m'), 'direct'],
  [get('/Patient?name=nobody'), 'direct'],
  [get('/Patient?name=hot&_count=1'), 'direct'],
  [get('/Patient?'), 'direct'],
  [get('/Patient?_summary=count'), 'direct'],
  [get('/Patient?_id=hot&_pretty=true'), 'direct'],
  [get('/Patient?_id=hot&_format=xml'), 'direct'],
  [get('/Patient?_id=%ff'), 'direct'],
  [get('/Patient?unknown=1'), 'direct'],
  [get('/Patient?unknown=1', 'prefer: handling=lenient\r\n'), 'direct'],
  [get('/Patient?_id=hot', 'accept: text/html\r\n'), 'direct'],
  [get('/Observation?code:text=x&_revinclude=Observation:subject'), 'direct'],
  [get('/Nothing?_id=hot'), 'usual'],
  [get('/patient?_id=hot'), 'usual'],
  [get('/?_id=hot'), 'usual'],
  [get('/Patient/?_id=hot'), 'usual'],
  [get('/P%61tient?_id=hot'), 'usual'],
  [get('/Patient?_id=hot').replace('GET', 'HEAD'), 'usual'],
  [get('/metadata?_pretty=true'), 'usual'],
]

test('one request after the other, the answer and what is told of it are the same', () =>
  withBoth(async (direct, usual) => {
    for (const [bytes, way] of TABLE) {
      // The server ends a connection of which it trusts nothing any more; others are ended here.
      const { ways, text } = await compare(direct, usual, bytes)
      assert.equal(ways, way === 'none' ? [] : [way], bytes)
      assert.match(text, /^HTTP\/1\.1 \d{3} /)
    }
    assert.ok(usual.ways.every((way) => way === 'usual'))
  }))

test('so is a search that is asked again and again, until what it finds has changed', () =>
  withBoth(async (direct, usual) => {
    const path = '/Patient?family=%C3%85ng'
    // The fourth one is sent what was kept of the third.
    for (const host of ['a', 'a', 'a', 'a', 'b']) {
      const { ways, text } = await compare(direct, usual, get(path).replace('host: a', `host: ${host}`))
      assert.equal(ways, ['direct'])
      assert.match(text, /"id":"hot"/)
    }
    for (const { server } of [direct, usual])
      await put(server, { resourceType: 'Patient', id: 'new', name: [{ family: 'Ångel' }] })
    const { text, ways } = await compare(direct, usual, get(path))
    assert.equal(ways, ['direct'])
    assert.match(text, /"id":"new".*"id":"hot"/s)
  }))

test('pipelined requests are answered in their order', () =>
  withBoth(async (direct, usual) => {
    const three = get('/Patient/hot') + get('/Patient/missing') + get('/Observation/o.1')
    const { text } = await compare(direct, usual, three, 3)
    assert.equal(
      [...text.matchAll(/HTTP\/1\.1 (\d{3})/g)].map(([, status]) => status),
      ['200', '404', '200'],
    )
    await compare(direct, usual, get('/Patient/hot').repeat(40), 40)
  }))

test('what exceeds a limit is refused, with the same words and fields', () =>
  withBoth(
    async (direct, usual) => {
      const statuses: (string | undefined)[] = []
      for (let time = 0; time < 4; time += 1) {
        const { text, ways } = await compare(direct, usual, get('/Patient/hot'))
        // The limit is asked first: of what it refuses nobody else is.
        assert.equal(ways, time === 3 ? [] : ['direct'])
        assert.match(text, /ratelimit: "default";r=/)
        statuses.push(text.slice(9, 12))
      }
      assert.equal(statuses, ['200', '200', '200', '429'])
    },
    [limits],
    {
      rate_limit: {
        enabled: true,
        burst: 3,
        requests_per_second: 0.001,
        cost: { search: 1, write: 0, bundle: 1, operation: 1, export: 1, sync: 1 },
      },
    },
  ))

const Refused = defineError('test/refused', 403, 'forbidden', 'Not for you.')

/** Taps of third parties, and the way that a hot read takes past each to `admit`. */
const TAPS: Readonly<Record<string, Tap>> = {
  'a caller, at once': (hooks) => hooks.authenticate.tap('who', () => ({ kind: 'client', client: 'c1' })),
  'a caller, later': (hooks) => hooks.authenticate.tapPromise('who', async () => ({ kind: 'client', client: 'c1' })),
  'a caller, by a tap that may wait and does not': (hooks) =>
    hooks.authenticate.tapPromise('who', () => ({ kind: 'client', client: 'c1' })),
  'nobody, by a tap that may wait and does not': (hooks) =>
    hooks.authenticate.tapPromise('who', () => {
      throw Refused()
    }),
  'nobody, at once': (hooks) =>
    hooks.authenticate.tap('who', () => {
      throw Refused()
    }),
  'nobody, later': (hooks) =>
    hooks.authenticate.tapPromise('who', async () => {
      throw Refused()
    }),
  'a refusal, at once': (hooks) => hooks.admit.tap('no', () => Refused().with({ headers: { 'retry-after': '7' } })),
  'a refusal, later': (hooks) => hooks.admit.tapPromise('no', async () => Refused()),
  'a bug, at once': (hooks) =>
    hooks.admit.tap('bug', () => {
      throw new TypeError('a bug')
    }),
  'an answer, at once': (hooks) => hooks.beforeRequest.tap('instead', () => ({ status: 418, body: 'tea' })),
  'an answer, later': (hooks) =>
    hooks.beforeRequest.tapPromise('instead', async () => ({ status: 418, headers: { x: 'y' }, body: 'tea' })),
  'no answer, later': (hooks) => hooks.beforeRequest.tapPromise('nothing', async () => undefined),
  'not authorized, at once': (hooks) =>
    hooks.authorize.tap('no', (_request, _interaction, ruling) => ruling.refuse(Refused())),
  'not authorized, later': (hooks) =>
    hooks.authorize.tapPromise('no', async (_request, _interaction, ruling) => ruling.refuse(Refused())),
  'another type only': (hooks) =>
    hooks.authorize.tap('types', (_request, _interaction, ruling) => ruling.restrict(onlyTypes('Observation'))),
  'another patient only': (hooks) =>
    hooks.authorize.tapPromise('compartment', async (_request, _interaction, ruling) =>
      ruling.restrict(inCompartment('Patient', 'cold')),
    ),
  'no fact can be kept': (hooks) =>
    hooks.onAudit.tap('full', () => {
      throw Refused()
    }),
  'no fact can be kept, later': (hooks) =>
    hooks.onAudit.tapPromise('full', async () => {
      throw Refused()
    }),
  'a header of a plugin': (hooks) =>
    hooks.admit.tap('header', (request) => {
      request.setHeader('x-of-a-plugin', 'yes')
      return undefined
    }),
  'a throwing meter': (hooks) =>
    hooks.meter.tap('bug', () => {
      throw new TypeError('a bug')
    }),
}

/** Only what comes over the port, so that a server can be filled. */
const overThePort =
  (tap: Tap): Tap =>
  (hooks) => {
    const guarded = Object.fromEntries(
      Object.entries(hooks).map(([name, hook]) => {
        const only =
          (fn: (...args: any[]) => unknown, none: unknown) =>
          (first: RequestContext | { request: RequestContext }, ...rest: unknown[]) =>
            ('request' in first ? first.request : first).headers.host === 'a' ? fn(first, ...rest) : none
        return [
          name,
          {
            tap: (label: string, fn: (...args: any[]) => unknown) => (hook as any).tap(label, only(fn, undefined)),
            tapPromise: (label: string, fn: (...args: any[]) => unknown) =>
              (hook as any).tapPromise(label, only(fn, Promise.resolve(undefined))),
          },
        ]
      }),
    )
    tap(guarded as unknown as Hooks)
  }

for (const [name, tap] of Object.entries(TAPS))
  test(`with taps of third parties, each of them once: ${name}`, () => {
    const counts: number[] = []
    let at = -1
    const counted: Tap = (hooks) => {
      at += 1
      const own = at
      counts[own] = 0
      const counting = Object.fromEntries(
        Object.entries(hooks).map(([hookName, hook]) => {
          const count =
            (fn: (...args: any[]) => unknown) =>
            (...args: unknown[]) => {
              counts[own] = (counts[own] ?? 0) + 1
              return fn(...args)
            }
          return [
            hookName,
            {
              tap: (label: string, fn: (...args: any[]) => unknown) => (hook as any).tap(label, count(fn)),
              tapPromise: (label: string, fn: (...args: any[]) => unknown) =>
                (hook as any).tapPromise(label, count(fn)),
            },
          ]
        }),
      )
      tap(counting as unknown as Hooks)
    }
    return withBoth(
      async (direct, usual) => {
        await compare(direct, usual, get('/Patient/hot'))
        await compare(direct, usual, get('/Patient/cold'))
        await compare(direct, usual, get('/Patient?_id=hot,cold'))
        await compare(direct, usual, get('/Patient/hot') + get('/Patient/hot', 'x-request-id: mine\r\n'), 2)
        assert.is(counts[0], counts[1])
        assert.ok((counts[0] as number) >= 4)
      },
      [],
      {},
      overThePort(counted),
    )
  })

test('a resource that is changed or deleted is read as it is then', () =>
  withBoth(async (direct, usual) => {
    const body = JSON.stringify({ resourceType: 'Patient', id: 'hot', active: true })
    const change = `PUT /Patient/hot HTTP/1.1\r\n${HEAD}content-type: application/fhir+json\r\ncontent-length: ${body.length}\r\n\r\n${body}`
    await compare(direct, usual, change + get('/Patient/hot'), 2)
    const { text } = await compare(direct, usual, get('/Patient/hot'))
    assert.match(text, '"active":true')
    await compare(direct, usual, `DELETE /Patient/hot HTTP/1.1\r\n${HEAD}\r\n`)
    const after = await compare(direct, usual, get('/Patient/hot'))
    assert.match(after.text, /^HTTP\/1\.1 410 /)
  }))

test.run()

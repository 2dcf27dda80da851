/**
 * URLs that clients write: into resources, parameters and headers, in all spellings of an address that is not for them.
 * Nothing here fetches what a client names, so nobody is ever connected to. What the server would have connected to
 * listens, and counts.
 */
// database: memory
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import audit from '../../../plugins/audit/index.ts'
import database from '../../../plugins/database/index.ts'
import references from '../../../plugins/references/index.ts'
import terminology from '../../../plugins/terminology/index.ts'
import validation from '../../../plugins/validation/index.ts'
import { fhirPlugins } from '../../support/fhir-plugins.ts'
import { assertServes } from '../../support/refused.ts'
import { serverWith, type TestServer } from '../../support/server-with.ts'
import { stubDefinitions } from '../../support/stub-definitions.ts'

const QUICK_MS = 5_000 // an answer that takes longer has waited for somebody

let target: Server
let port = 0
let connections = 0

test.before(async () => {
  target = createServer((_request, response) => void response.writeHead(302, { location: '/' }).end())
  target.on('connection', () => {
    connections += 1
  })
  await new Promise<void>((resolve) => target.listen(0, '127.0.0.1', resolve))
  port = (target.address() as AddressInfo).port
})
test.after(() => void target.close())

/** WHATWG reads most of them as 127.0.0.1. https://url.spec.whatwg.org/#concept-ipv4-parser */
const targets = (): readonly string[] => [
  ...[
    ...['127.0.0.1', '127.1', '0x7f.1', '2130706433', '017700000001', '①②⑦.⓪.⓪.①', '0', 'localhost', 'localhost.'],
    ...['[::ffff:7f00:1]', '[64:ff9b::7f00:1]', '[::]', '[::1]', '169.254.169.254.', 'a@127.0.0.1'],
  ].map((host) => `http://${host}:${port}/x`),
  `http:\\\\127.0.0.1:${port}\\x`,
  `https://127.0.0.1:${port}/x`,
  `ws://127.0.0.1:${port}/x`,
  'file:///etc/passwd',
  `gopher://127.0.0.1:${port}/_x`,
]

interface Asked {
  readonly method: 'GET' | 'POST' | 'PUT'
  readonly url: string
  readonly payload?: object
}

/** Everywhere a client may name an address that some server would look up, call, or load from. */
const asking = (url: string): readonly Asked[] => {
  const named = encodeURIComponent(url)
  const create = (resource: { readonly resourceType: string }): Asked => ({
    method: 'POST',
    url: `/${resource.resourceType}`,
    payload: resource,
  })
  const channel = { type: 'rest-hook', endpoint: url, payload: 'application/fhir+json' }
  const codes = { resourceType: 'ValueSet', status: 'active', compose: { include: [{ valueSet: [url] }] } }
  const patient = { resourceType: 'Patient', photo: [{ contentType: 'image/png', url }] }
  const observation = { resourceType: 'Observation', status: 'final', code: { text: 'x' } }
  return [
    create({ resourceType: 'Subscription', status: 'requested', reason: 'x', criteria: 'Patient?', channel } as never),
    create({ resourceType: 'Endpoint', status: 'active', address: url } as never),
    create(patient),
    create({ ...patient, meta: { profile: [url] } } as never),
    create({ ...observation, subject: { reference: url } } as never),
    create({ ...observation, extension: [{ url, valueUrl: url }] } as never),
    create({ resourceType: 'DocumentReference', status: 'current', content: [{ attachment: { url } }] } as never),
    create({ ...codes, url } as never),
    create({ resourceType: 'CodeSystem', status: 'active', content: 'not-present', url, supplements: url } as never),
    create({
      resourceType: 'ImplementationGuide',
      url,
      name: 'X',
      status: 'active',
      packageId: 'x',
      fhirVersion: ['4.0.1'],
    } as never),
    {
      method: 'POST',
      url: '/ValueSet/$expand',
      payload: { resourceType: 'Parameters', parameter: [{ name: 'valueSet', resource: codes }] },
    },
    { method: 'GET', url: `/ValueSet/$expand?url=${named}` },
    { method: 'GET', url: `/ValueSet/$validate-code?url=${named}&system=${named}&code=x` },
    { method: 'GET', url: `/CodeSystem/$lookup?system=${named}&code=x` },
    { method: 'POST', url: `/Patient/$validate?profile=${named}`, payload: patient },
    { method: 'GET', url: `/Observation?code:in=${named}` },
    { method: 'GET', url: `/Observation?subject=${named}` },
    { method: 'GET', url: `/Patient?_profile=${named}&_source=${named}` },
    {
      method: 'POST',
      url: '/',
      payload: {
        resourceType: 'Bundle',
        type: 'batch',
        link: [{ relation: 'self', url }],
        entry: [
          { fullUrl: url, resource: patient, request: { method: 'POST', url: 'Patient' } },
          { request: { method: 'GET', url } },
        ],
      },
    },
  ]
}

/** Asks everything with every target; each is answered at once, whatever the answer is. */
const askAll = async (server: TestServer): Promise<void> => {
  for (const url of targets())
    for (const { method, url: path, payload } of asking(url)) {
      const since = performance.now()
      const { statusCode, body } = await server.inject({
        method,
        url: path,
        headers: {
          'content-type': 'application/fhir+json',
          referer: url.replaceAll(/[^ -~]/g, ''),
          'x-forwarded-host': `127.0.0.1:${port}`,
        },
        ...(payload !== undefined && { payload }),
      })
      assert.ok(statusCode < 500, `${method} ${path}: ${statusCode} ${body.slice(0, 300)}`)
      assert.ok(performance.now() - since < QUICK_MS, `${method} ${path} with ${url}`)
    }
  await assertServes(server, 'rows 72 and 73')
}

test('no address that a client writes is ever connected to (rows 72 and 73)', async () => {
  // The target does count, and one of the spellings does reach it.
  await fetch(`http://127.1:${port}/`, { redirect: 'manual' })
  assert.is(connections, 1)
  const server = await serverWith({
    plugins: [database, stubDefinitions('all'), validation, ...fhirPlugins, references, terminology, audit],
    settings: { conformance: { reference_policy: 'fhir' } },
  })
  // When it has stopped, what would be sent later has had its turn.
  await askAll(server).finally(() => server.stop())
  assert.is(connections, 1)
})

test.run()

// database: memory
/** /openapi.json: valid, complete, and true: what it lists is there, and what is there is listed. */
import { gunzipSync } from 'node:zlib'
import { Validator } from '@seriousme/openapi-schema-validator'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { type AnyPlugin, definePlugin, type ListedRoute } from '../../kernel/index.ts'
import { Fhir } from '../../plugins/fhir/service.ts'
import { firstParty } from '../../plugins/index.ts'
import packages from '../../plugins/packages/index.ts'
import { serverWith, type TestServer } from '../support/server-with.ts'
import { stubDefinitions } from '../support/stub-definitions.ts'

type Json = Record<string, any>

const METHODS = ['get', 'put', 'post', 'delete', 'patch', 'head', 'options', 'trace']
const JSON_BODY = { 'content-type': 'application/fhir+json' }
const ON = { metrics: { enabled: true }, features: { trace_engine: true }, subscriptions: { websocket: true } }
const SMART = { ...ON, server: { public_url: 'https://fhir.example.org' }, smart: { enabled: true, demo_login: true } }

/** Its routes are known to the test: a route, an operation, and what the kernel lists of all plugins. */
let listed: () => Promise<readonly ListedRoute[]>
const third = definePlugin({
  name: 'third',
  needs: { fhir: Fhir },
  setup({ needs, routes, listRoutes }) {
    listed = listRoutes
    needs.fhir.operation({
      ...{ code: 'weigh', definition: 'http://example.org/weigh', documentation: 'Weighs.', levels: ['instance'] },
      ...{ types: ['Patient'], parameters: [{ name: 'unit', type: 'code', documentation: 'The unit.' }] },
      answer: () => ({ resource: { resourceType: 'Parameters' } }),
    })
    routes((app, _options, done) => {
      app.get('/third/:place', { config: { summary: 'A third place.' } }, () => ({ ok: true }))
      app.delete('/third/:place', () => ({ ok: true }))
      done()
    })
  },
})
const pluginsWith = (definitions: AnyPlugin): readonly AnyPlugin[] => [
  ...firstParty.map((one) => (one === packages ? definitions : one)),
  third,
]

const documentOf = async (server: TestServer): Promise<Json> => {
  const answer = await server.inject('/openapi.json')
  assert.is(answer.statusCode, 200, answer.body.slice(0, 500))
  assert.match(String(answer.headers['content-type']), /^application\/json(;|$)/)
  return answer.json()
}
const operationsOf = ({ paths }: Json): readonly (readonly [method: string, path: string, operation: Json])[] =>
  Object.entries(paths as Json).flatMap(([path, item]) =>
    METHODS.flatMap((method) => (item[method] === undefined ? [] : [[method, path, item[method]] as const])),
  )
const pathOf = (path: string): string =>
  path
    .replaceAll('{type}', 'Basic')
    .replaceAll('{compartment}', 'Patient')
    .replaceAll('{other}', 'Observation')
    .replace(/\{\w+\}/g, 'x1')

/** Whether a segment of a document's path is one that the declared segment stands for. */
const meets = (declared: string, path: string): boolean => {
  const [one, other] = [declared, path].map((text) => text.split('/').filter((part) => part !== ''))
  return (
    one!.length === other!.length &&
    one!.every(
      (part, at) => part === other![at] || part === '*' || (part.startsWith(':') && !/^[$_]/.test(other![at]!)),
    )
  )
}

let server: TestServer
let document: Json
test.before(async () => {
  server = await serverWith({ plugins: pluginsWith(stubDefinitions('all')), settings: ON })
  document = await documentOf(server)
})
test.after(() => server.stop())

test('an independent validator finds no fault, and one in a document that is broken', async () => {
  const found = await new Validator().validate(structuredClone(document))
  assert.ok(found.valid, JSON.stringify(found.errors)?.slice(0, 2000))
  const broken = structuredClone(document)
  broken.paths['/Patient'].get.responses = { Error: {} }
  assert.not((await new Validator().validate(broken)).valid)
})

test('every reference leads somewhere, every path has its parameters, and every operation has an id of its own', () => {
  const references = [...JSON.stringify(document).matchAll(/"\$ref":"#\/([^"]+)"/g)].map(([, path = '']) => path)
  const lost = references.filter(
    (path) => path.split('/').reduce<Json | undefined>((at, name) => at?.[name], document) === undefined,
  )
  assert.equal([...new Set(lost)], [])
  const ids = operationsOf(document).map(([, , { operationId }]) => operationId as string)
  assert.is(
    new Set(ids).size,
    ids.length,
    ids.find((id, at) => ids.indexOf(id) !== at),
  )
  for (const [method, path, { parameters = [] }] of operationsOf(document)) {
    const resolved = parameters.map((one: Json) =>
      one.$ref === undefined ? one : document.components.parameters[one.$ref.split('/').at(-1)],
    )
    const inPath = resolved.filter((one: Json) => one.in === 'path').map(({ name }: Json) => `{${name}}`)
    assert.equal(
      inPath.toSorted(),
      [...path.matchAll(/\{\w+\}/g)].map(([name]) => name).toSorted(),
      `${method} ${path}`,
    )
    const names = resolved.map((one: Json) => `${one.in} ${one.name}`)
    assert.is(new Set(names).size, names.length, `${method} ${path}: a parameter twice`)
  }
})

test('no registered route is missing', async () => {
  const routes = (await listed()).filter(({ config, path }) => config.isRefusal !== true && !path.includes('$:'))
  assert.ok(routes.length > 100)
  const all = operationsOf(document)
  const missing = routes.flatMap(({ methods, path }) =>
    methods
      .filter((method) => !all.some(([one, at]) => one === method.toLowerCase() && meets(path, at)))
      .map((method) => `${method} ${path}`),
  )
  assert.equal(missing, [])
})

test('what it lists is there: no address is unknown, and no method is refused', async () => {
  for (const [method, path] of operationsOf(document)) {
    if (path === '/sync' && method === 'post') continue // a stream of events, which does not end
    const answer = await server.inject({
      method: method.toUpperCase() as 'GET',
      url: `${pathOf(path)}${/^\/[A-Z]\w+$/.test(path) && method !== 'post' ? '?_id=none' : ''}`,
      ...(['put', 'post', 'patch'].includes(method) && { headers: JSON_BODY, payload: '{' }),
    })
    assert.not.equal(answer.statusCode, 405, `${method} ${path}`)
    assert.not.match(answer.body, /There is nothing at|not a resource type/, `${method} ${path}`)
  }
})

test('types have the interactions and search parameters that they have in /metadata, and no others', async () => {
  const { rest } = (await server.inject('/metadata')).json() as Json
  for (const { type, searchParam, interaction } of rest[0].resource as readonly Json[]) {
    const { get } = document.paths[`/${type}`]
    const named = (get.parameters as readonly Json[])
      .map((one) => document.components.parameters[one.$ref.split('/').at(-1)])
      .map(({ name }) => name as string)
    for (const { name } of searchParam) assert.ok(named.includes(name), `${type} ${name}`)
    const codes = interaction.map(({ code }: Json) => code as string)
    assert.is(document.paths[`/${type}/{id}`].put !== undefined, codes.includes('update'), type)
    assert.is(document.paths[`/${type}/{id}`].delete !== undefined, codes.includes('delete'), type)
  }
  assert.is(document.paths['/AuditEvent'].post, undefined)
})

test('a plugin of a third party is described by its declarations', () => {
  assert.is(document.paths['/third/{place}'].get.summary, 'A third place.')
  assert.ok(document.paths['/third/{place}'].delete)
  const weigh = document.paths['/Patient/{id}/$weigh']
  assert.is(weigh.get.description, 'Weighs.')
  assert.is(weigh.get.parameters.at(-1).name, 'unit')
  assert.ok(weigh.post)
})

test('errors are OperationOutcomes, resources are in the media types of /metadata, patches in theirs', async () => {
  const { format, patchFormat } = (await server.inject('/metadata')).json() as Json
  const { responses, schemas } = document.components
  const types = format.filter((one: string) => one.includes('/'))
  assert.equal(Object.keys(responses.Error.content), types)
  assert.equal(schemas.OperationOutcome.properties.resourceType, { const: 'OperationOutcome' })
  assert.equal(Object.keys(document.paths['/Patient'].post.requestBody.content), types)
  assert.equal(Object.keys(document.paths['/Patient/{id}'].patch.requestBody.content), patchFormat)
})

test('a search parameter that is posted is in it at once', async () => {
  const payload = JSON.stringify({
    ...{ resourceType: 'SearchParameter', url: 'http://example.org/nickname', name: 'nickname', status: 'active' },
    ...{ description: 'x', code: 'nickname', base: ['Patient'], type: 'string', expression: 'Patient.name.given' },
  })
  const answer = await server.inject({ method: 'POST', url: '/SearchParameter', headers: JSON_BODY, payload })
  assert.is(answer.statusCode, 201, answer.body)
  const { paths } = await documentOf(server)
  const named = paths['/Patient'].get.parameters.map(({ $ref }: Json) => $ref)
  assert.ok(named.includes('#/components/parameters/search.nickname.string'))
})

test('it is small, compressed where the client takes it, and names the server by the host that was asked', async () => {
  const plain = await server.inject({ url: '/openapi.json', headers: { host: 'fhir.example.org' } })
  assert.ok(plain.body.length < 1_500_000, `${plain.body.length} characters`)
  assert.equal(plain.json().servers, [{ url: 'http://fhir.example.org' }])
  const packed = await server.inject({
    url: '/openapi.json',
    headers: { host: 'fhir.example.org', 'accept-encoding': 'gzip' },
  })
  assert.is(packed.headers['content-encoding'], 'gzip')
  assert.is(gunzipSync(packed.rawPayload).toString(), plain.body)
  assert.ok(packed.rawPayload.length < 100_000, `${packed.rawPayload.length} bytes`)
  assert.is((await server.inject('/openapi.json?x=1')).statusCode, 400)
})

test('under SMART it has the schemes, is open itself, and marks as open exactly what takes no token', async () => {
  // All types are guarded in the same way, so a few are enough.
  const guarded = await serverWith({ plugins: pluginsWith(stubDefinitions()), settings: SMART })
  try {
    const described = await documentOf(guarded)
    assert.ok((await new Validator().validate(structuredClone(described))).valid)
    const { securitySchemes } = described.components
    const { flows } = securitySchemes.smart
    assert.match(flows.authorizationCode.authorizationUrl, /^https:\/\/fhir.example.org\/oauth\/authorize$/)
    assert.match(flows.clientCredentials.tokenUrl, /\/oauth\/token$/)
    assert.ok(described.paths['/oauth/token'].post)
    for (const [method, path, { security, responses }] of operationsOf(described)) {
      if (method !== 'get' || responses['101'] !== undefined) continue // a WebSocket is asked for with headers
      const { statusCode, body } = await guarded.inject(pathOf(path))
      const asksForToken = statusCode === 401 && body.includes('access token')
      assert.is(asksForToken, security === undefined, `${path}: ${statusCode} ${body.slice(0, 200)}`)
    }
  } finally {
    await guarded.stop()
  }
})

test.run()

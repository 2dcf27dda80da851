/** What is refused when it is written, instead of being stored and ignored. */
// database: sqlite, because what is refused is refused before it is stored
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { type Json, patient, type SubscriptionClinic, subscription, subscriptionClinic } from './subscription-clinic.ts'

let clinic: SubscriptionClinic
test.before(async () => {
  const hosts = [
    'hooks.example.org',
    'hooks.example.org:8443',
    'inside.example.org',
    '10.1.2.3',
    '[::1]:9000',
    '127.0.0.1:9',
  ]
  clinic = await subscriptionClinic({ subscriptions: { rest_hook_hosts: hosts } })
})
test.after(() => clinic.stop())

const HOOK = { type: 'rest-hook', endpoint: 'https://hooks.example.org/in' }
const put = (resource: Json, token?: object) => clinic.ask('PUT', `/Subscription/${resource.id}`, resource, token)

const CHANNELS: readonly (readonly [what: string, channel: Json, says: RegExp])[] = [
  ['email', { type: 'email', endpoint: 'mailto:a@example.org' }, /email\\" is not supported/],
  ['sms', { type: 'sms', endpoint: 'tel:1' }, /sms\\" is not supported/],
  ['message', { type: 'message', endpoint: 'https://hooks.example.org' }, /message\\" is not supported/],
  ['a WebSocket where it is off', { type: 'websocket' }, /\[subscriptions\] websocket/],
  ['no endpoint', { type: 'rest-hook' }, /has a channel.endpoint/],
  ['another host', { ...HOOK, endpoint: 'https://example.org/in' }, /rest_hook_hosts/],
  ['another port', { ...HOOK, endpoint: 'https://hooks.example.org:444/in' }, /rest_hook_hosts/],
  ['a host with a point', { ...HOOK, endpoint: 'https://hooks.example.org./in' }, /rest_hook_hosts/],
  ['a user', { ...HOOK, endpoint: 'https://a:secret-word@hooks.example.org/in' }, /a user, a password or a fragment/],
  ['a fragment', { ...HOOK, endpoint: 'https://hooks.example.org/in#a' }, /fragment/],
  ['http', { ...HOOK, endpoint: 'http://hooks.example.org/in' }, /https/],
  ['another scheme', { ...HOOK, endpoint: 'ftp://hooks.example.org/in' }, /no https URL/],
  ['no URL', { ...HOOK, endpoint: '/in' }, /no https URL/],
  ['a private address that is not listed', { ...HOOK, endpoint: 'https://10.1.2.4/in' }, /rest_hook_hosts/],
  ['a loopback address that is not listed', { ...HOOK, endpoint: 'http://0x7f.2:9/in' }, /rest_hook_hosts/],
  ['the metadata service', { ...HOOK, endpoint: 'http://169.254.169.254/latest' }, /https|rest_hook_hosts/],
  ['another payload', { ...HOOK, payload: 'application/fhir+xml' }, /channel.payload is application\/fhir\+json/],
  [
    'a payload with a query',
    { ...HOOK, endpoint: `${HOOK.endpoint}?a=b`, payload: 'application/fhir+json' },
    /no query/,
  ],
  ['a header that is none', { ...HOOK, header: ['secret-word'] }, /header\[0\] is not a line/],
  ['a header with a line end', { ...HOOK, header: ['X-A: b\r\nX-C: secret-word'] }, /header\[0\] has a value/],
  ['a name with a space', { ...HOOK, header: ['X A: secret-word'] }, /header\[0\] has a name/],
  [
    'a header of the connection',
    { ...HOOK, header: ['X-A: b', 'Connection: secret-word'] },
    /header\[1\] sets connection/,
  ],
  ['a length', { ...HOOK, header: ['Content-Length: 1'] }, /sets content-length/],
  ['a host header', { ...HOOK, header: ['Host: example.org'] }, /sets host/],
  ['a number of an event', { ...HOOK, header: ['X-Event-Number: 1'] }, /sets x-event-number/],
]
for (const [what, channel, says] of CHANNELS)
  test(`channel: ${what} is refused`, async () => {
    const { status, text } = await put(subscription('c', 'Patient', channel))
    assert.is(status, 422, text)
    assert.match(text, says)
    assert.not.ok(text.includes('secret-word'))
    assert.is((await clinic.ask('GET', '/Subscription/c')).status, 404)
  })

test('listed hosts, ports and addresses are taken', async () => {
  for (const endpoint of [
    'https://hooks.example.org:8443/a',
    'https://10.1.2.3/a',
    'http://[::1]:9000/a',
    'http://127.1:9/',
  ]) {
    const { status, text } = await put(subscription('taken', 'Patient', { ...HOOK, endpoint }))
    assert.ok(status < 300, `${endpoint}: ${text}`)
    assert.is((await clinic.ask('DELETE', '/Subscription/taken')).status, 204)
  }
})

const CRITERIA: readonly (readonly [criteria: string, says: RegExp])[] = [
  ['', /one type|criteria/],
  ['patient', /one type/],
  ['Patient,Observation', /one type/],
  ['Nothing?a=b', /Nothing/],
  ['Patient?nonsense=1', /nonsense/],
  ['Patient?gender:oops=1', /oops/],
  ['Patient?_sort=name', /_sort/],
  ['Patient?_count=1', /_count/],
  ['Patient?_include=Patient:organization', /_include/],
]
for (const [criteria, says] of CRITERIA)
  test(`criteria: "${criteria}" is refused`, async () => {
    const { status, text } = await put(subscription('k', criteria, HOOK))
    assert.is(status, 422, text)
    assert.match(text, says)
  })

test('the status active is the server’s, an end that has passed is none, and off is stored', async () => {
  assert.is((await put(subscription('s', 'Patient', HOOK, { status: 'active' }))).status, 422)
  assert.is((await put(subscription('s', 'Patient', HOOK, { end: '2020-01-01T00:00:00Z' }))).status, 422)
  assert.is((await put(subscription('s', 'Patient', HOOK, { status: 'off' }))).status, 201)
})

test('also as a patch and in a Bundle', async () => {
  await put(subscription('p', 'Patient', { ...HOOK, endpoint: 'https://example.org' }, { status: 'off' }))
  const patched = await clinic.server.inject({
    method: 'PATCH',
    url: '/Subscription/p',
    headers: { 'content-type': 'application/json-patch+json', 'x-test-scope': 'system/*.cruds' },
    payload: JSON.stringify([{ op: 'replace', path: '/status', value: 'requested' }]),
  })
  assert.is(patched.statusCode, 422, patched.body)
  const entry = [
    { resource: patient('in-bundle'), request: { method: 'PUT', url: 'Patient/in-bundle' } },
    { resource: subscription('b', 'Patient', { type: 'sms' }), request: { method: 'PUT', url: 'Subscription/b' } },
  ]
  const bundle = await clinic.ask('POST', '/', { resourceType: 'Bundle', type: 'transaction', entry })
  assert.is(bundle.status, 422, bundle.text)
  assert.is((await clinic.ask('GET', '/Patient/in-bundle')).status, 404)
})

test('who may not read a type cannot subscribe to it', async () => {
  const scope = 'system/Subscription.cruds system/Patient.s system/Observation.rs'
  const ask = (criteria: string) => put(subscription('f', criteria, HOOK), { scope })
  assert.is((await ask('Patient')).status, 403)
  assert.is((await ask('Practitioner')).status, 403)
  assert.is((await ask('Observation')).status, 201)
})

test('where nothing is configured, requested and active are refused with what the operator can do; off is stored', async () => {
  const plain = await subscriptionClinic()
  for (const status of ['requested', 'active']) {
    const answer = await plain.ask('PUT', '/Subscription/x', subscription('x', 'Patient', HOOK, { status }))
    assert.is(answer.status, 422)
    assert.match(answer.text, /\[subscriptions\] rest_hook_hosts/)
  }
  assert.is(
    (await plain.ask('PUT', '/Subscription/x', subscription('x', 'Patient', HOOK, { status: 'off' }))).status,
    201,
  )
  assert.not.ok((await plain.ask('GET', '/metadata')).text.includes('backport-subscription-status'))
  assert.ok((await clinic.ask('GET', '/metadata')).text.includes('backport-subscription-status'))
  await plain.stop()
})

test.run()

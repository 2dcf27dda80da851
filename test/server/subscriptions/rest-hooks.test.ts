/** What rest-hooks receive: which versions, in which order, under which number, and what they do not receive. */
// waits: for notifications that are sent again
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { type HookReceiver, startHookReceiver } from '../../support/hook-receiver.ts'
import {
  observation,
  patient,
  type SubscriptionClinic,
  subscription,
  subscriptionClinic,
} from './subscription-clinic.ts'

const SECRET = 'Bearer correct-horse-battery-staple'

let receiver: HookReceiver
let clinic: SubscriptionClinic
test.before(async () => {
  receiver = await startHookReceiver()
  clinic = await subscriptionClinic({ subscriptions: { rest_hook_hosts: [receiver.host], retry_minutes: 5 } })
})
test.after(async () => {
  await clinic.stop()
  await receiver.close()
})
test.before.each(() => {
  receiver.answer = { status: 200 }
})

const hook = (path: string, more: object = {}) => ({
  type: 'rest-hook',
  endpoint: `http://${receiver.host}/${path}`,
  ...more,
})
const JSON_PAYLOAD = { payload: 'application/fhir+json' }
const upTo = (count: number): readonly number[] => Array.from({ length: count }, (_, at) => at + 1)
const whenTaken = (path: string, count: number): Promise<void> =>
  clinic.pass(() => receiver.numbers(`/${path}`).length >= count, `${count} notifications at ${path}`)
const off = async (id: string): Promise<void> => {
  const { json } = await clinic.ask('GET', `/Subscription/${id}`)
  await clinic.put({ ...json, status: 'off' })
}

test('a rest-hook without payload is greeted with an empty POST, then gets one for each version that matches', async () => {
  await clinic.put(patient('before'))
  const active = await clinic.subscribe(
    'empty',
    'Patient?gender=female',
    hook('empty', { header: [`Authorization: ${SECRET}`] }),
  )
  assert.is(active.meta.versionId, '2')
  const [greeting] = receiver.all.filter(({ url }) => url === '/empty')
  assert.equal([greeting?.method, greeting?.body, greeting?.number], ['POST', '', 0])
  assert.is(greeting?.headers.authorization, SECRET)
  await clinic.put(patient('a', { gender: 'male' }))
  await clinic.put(patient('a', { gender: 'female' }))
  await clinic.put(patient('a', { gender: 'female', active: true }))
  await clinic.put(patient('b', { gender: 'female' }))
  await clinic.ask('DELETE', '/Patient/b')
  await clinic.put(patient('c', { gender: 'female' }))
  await whenTaken('empty', 4)
  const sent = receiver.taken.filter(({ url }) => url === '/empty')
  assert.equal(
    sent.map(({ method, body, number }) => `${method} ${body}${number}`),
    upTo(4).map((n) => `POST ${n}`),
  )
  assert.ok(sent.every(({ headers, subscription: of }) => headers.authorization === SECRET && of === 'empty'))
  assert.not.ok(JSON.stringify(clinic.server.lines).includes('correct-horse'))
  await off('empty')
})

test('with a payload each version is put at the endpoint, as it was stored', async () => {
  await clinic.subscribe('bytes', 'Observation?status=final', hook('in', JSON_PAYLOAD))
  const text =
    '{ "resourceType":"Observation","id":"exact",  "status":"final","code":{"text":"x"},"valueQuantity":{"value":1.00}}'
  const made = await clinic.server.inject({
    method: 'PUT',
    url: '/Observation/exact',
    headers: { 'content-type': 'application/fhir+json', 'x-test-scope': 'system/*.cruds' },
    payload: text,
  })
  await clinic.put(observation('exact', 'a', { status: 'final' }))
  await whenTaken('in', 2)
  const [first, second] = receiver.taken.filter(({ url }) => url.startsWith('/in'))
  assert.equal([first?.method, first?.url], ['PUT', '/in/Observation/exact'])
  assert.match(first?.headers['content-type'] ?? '', 'application/fhir+json')
  assert.is(first?.body, made.body)
  assert.match(first?.body ?? '', '1.00')
  assert.is(JSON.parse(second?.body ?? '').meta.versionId, '2')
  await off('bytes')
})

test('a receiver that is away for a minute gets every notification, in order and none twice', async () => {
  await clinic.subscribe('away', 'Patient', hook('away', JSON_PAYLOAD))
  await clinic.put(patient('w0'))
  await whenTaken('away', 1)
  await receiver.leave()
  for (let n = 1; n <= 30; n += 1) {
    await clinic.put(patient(`w${n}`))
    await clinic.clock.advance(2_000)
  }
  assert.equal(receiver.numbers('/away'), [1])
  await receiver.comeBack()
  await whenTaken('away', 31)
  assert.equal(receiver.numbers('/away'), upTo(31))
  const urls = receiver.taken.filter(({ url }) => url.startsWith('/away')).map(({ url }) => url)
  assert.equal(
    urls,
    [0, ...upTo(30)].map((n) => `/away/Patient/w${n}`),
  )
  await off('away')
})

test('two Subscriptions have numbers of their own, and one whose endpoint fails does not hold up the other', async () => {
  await clinic.subscribe('one', 'Patient?gender=male', hook('one', JSON_PAYLOAD))
  await clinic.subscribe('two', 'Patient', hook('two'))
  await clinic.put(patient('x1', { gender: 'male' }))
  await clinic.put(patient('x2', { gender: 'female' }))
  await clinic.put(patient('x3', { gender: 'male' }))
  await whenTaken('one', 2)
  await whenTaken('two', 3)
  assert.equal([receiver.numbers('/one'), receiver.numbers('/two')], [upTo(2), upTo(3)])
  const { json } = await clinic.ask('GET', '/Subscription/two/$status')
  const parameters = Object.fromEntries(
    json.entry[0].resource.parameter.map(({ name, ...value }: object & { name: string }) => [
      name,
      Object.values(value)[0],
    ]),
  )
  assert.is(json.type, 'searchset')
  assert.equal(parameters, {
    subscription: { reference: 'Subscription/two' },
    status: 'active',
    type: 'query-status',
    eventsSinceSubscriptionStart: '3',
  })
  await off('one')
  await off('two')
})

test('off and deletion stop it; requested again, it goes on with the next number', async () => {
  await clinic.subscribe('stops', 'Patient', hook('stops', JSON_PAYLOAD))
  await clinic.put(patient('s1'))
  await whenTaken('stops', 1)
  await off('stops')
  await clinic.put(patient('s2'))
  await clinic.subscribe('stops', 'Patient', hook('stops', JSON_PAYLOAD))
  await clinic.put(patient('s3'))
  await whenTaken('stops', 2)
  assert.is((await clinic.ask('DELETE', '/Subscription/stops')).status, 204)
  await clinic.put(patient('s4'))
  await clinic.subscribe('stops', 'Patient', hook('stops', JSON_PAYLOAD))
  await clinic.put(patient('s5'))
  await whenTaken('stops', 3)
  const taken = receiver.taken.filter(({ url }) => url.startsWith('/stops'))
  assert.equal(
    taken.map(({ url, number }) => `${url.slice(-2)} ${number}`),
    ['s1 1', 's3 2', 's5 3'],
  )
  await off('stops')
})

test('what was written while the receiver was away is not sent any more once it is off', async () => {
  await clinic.subscribe('late', 'Patient', hook('late'))
  receiver.answer = { status: 503 }
  await clinic.put(patient('l1'))
  await clinic.pass(() => receiver.all.some(({ url, number }) => url === '/late' && number === 1), 'a first try')
  await off('late')
  receiver.answer = { status: 200 }
  const before = receiver.all.length
  await clinic.subscribe('mark', 'Patient', hook('mark'))
  await clinic.clock.advance(120_000)
  await clinic.put(patient('l2'))
  await whenTaken('mark', 1)
  assert.equal(
    receiver.all.slice(before).filter(({ url }) => url === '/late'),
    [],
  )
  await off('mark')
})

test('a transaction Bundle: each version in it is one notification; what it undoes is none', async () => {
  await clinic.subscribe('bundle', 'Patient?active=true', hook('bundle', JSON_PAYLOAD))
  const entry = (id: string, more: object) => ({
    resource: patient(id, { active: true, ...more }),
    request: { method: 'PUT', url: `Patient/${id}` },
  })
  const send = (...all: readonly object[]) =>
    clinic.ask('POST', '/', { resourceType: 'Bundle', type: 'transaction', entry: all })
  const refused = await send(entry('t1', {}), {
    request: { method: 'PUT', url: 'Patient/t2' },
    resource: patient('t3'),
  })
  assert.ok(refused.status >= 400)
  assert.is((await send(entry('t4', {}), entry('t5', {}), entry('t6', { active: false }))).status, 200)
  await clinic.put(patient('t7', { active: true }))
  await whenTaken('bundle', 3)
  const urls = receiver.taken.filter(({ url }) => url.startsWith('/bundle')).map(({ url }) => url.slice(-2))
  assert.equal([urls.slice(0, 2).sort(), urls[2]], [['t4', 't5'], 't7'])
  assert.equal(receiver.numbers('/bundle'), upTo(3))
  await off('bundle')
})

test('a restricted owner gets nothing of what it may not see, and what a search of the same owner finds', async () => {
  const owner = { scope: 'patient/Observation.rs user/Subscription.cruds', patient: 'mine', user: 'Practitioner/p' }
  await clinic.put(patient('mine'))
  await clinic.put(patient('other'))
  await clinic.subscribe('all-seen', 'Observation', hook('all-seen', JSON_PAYLOAD))
  const own = subscription('restricted', 'Observation', hook('restricted', JSON_PAYLOAD))
  await clinic.put(own, owner)
  await clinic.whenStatus('restricted', 'active')
  await clinic.put(observation('o1', 'mine'))
  await clinic.put(observation('o2', 'other'))
  await clinic.put(observation('o3', 'mine'))
  await clinic.put(observation('o1', 'other'))
  await clinic.put(observation('o4', 'mine'))
  await whenTaken('all-seen', 5)
  await whenTaken('restricted', 3)
  const taken = receiver.taken.filter(({ url }) => url.startsWith('/restricted'))
  assert.equal(
    taken.map(({ url }) => url.slice(-2)),
    ['o1', 'o3', 'o4'],
  )
  assert.ok(taken.every(({ body }) => JSON.parse(body).subject.reference === 'Patient/mine'))
  assert.equal(receiver.numbers('/restricted'), upTo(3))
  const found = (await clinic.ask('GET', '/Observation', undefined, owner)).json
  assert.equal(found.entry.map(({ resource }: any) => resource.id).sort(), ['o3', 'o4'])
  await off('all-seen')
  await off('restricted')
})

test('with a changed ruling the owner requests it again, and from then on gets what the new one shows', async () => {
  const channel = hook('ruling', JSON_PAYLOAD)
  const ask = async (scope: string, reason: string) => {
    await clinic.put(subscription('ruling', 'Observation', channel, { reason }), { scope })
    await clinic.whenStatus('ruling', 'active')
  }
  await ask('system/*.cruds', 'all')
  await clinic.put(observation('r1', 'mine', { status: 'amended' }))
  await whenTaken('ruling', 1)
  await ask('system/Subscription.cruds system/Observation.rs?status=final', 'less')
  await clinic.put(observation('r1', 'mine', { status: 'final' }))
  await clinic.put(observation('r2', 'mine', { status: 'amended' }))
  await clinic.put(observation('r3', 'mine', { status: 'final' }))
  await whenTaken('ruling', 3)
  const taken = receiver.taken.filter(({ url }) => url.startsWith('/ruling'))
  assert.equal(
    taken.map(({ url, number }) => `${url.slice(-2)} ${number}`),
    ['r1 1', 'r1 2', 'r3 3'],
  )
  await off('ruling')
})

test('criteria that only a search can decide: a chain, within what the owner may see', async () => {
  await clinic.put(patient('ch1', { gender: 'female' }))
  await clinic.put(patient('ch2', { gender: 'male' }))
  await clinic.subscribe('chain', 'Observation?subject:Patient.gender=female', hook('chain', JSON_PAYLOAD))
  await clinic.put(observation('c1', 'ch1'))
  await clinic.put(observation('c2', 'ch2'))
  await clinic.put(observation('c3', 'ch1'))
  await whenTaken('chain', 2)
  const urls = receiver.taken.filter(({ url }) => url.startsWith('/chain')).map(({ url }) => url.slice(-2))
  assert.equal(urls, ['c1', 'c3'])
  await off('chain')
})

test('an endpoint that fails for too long, or redirects: status error that says why and shows no secret', async () => {
  const header = [`Authorization: ${SECRET}`]
  receiver.answer = { status: 302, headers: { location: '/elsewhere' } }
  await clinic.put(subscription('moved', 'Patient', hook('moved', { header })))
  const moved = await clinic.whenStatus('moved', 'error', 2_000)
  assert.match(moved.error, /status 302, and redirects are not followed/)
  assert.is(receiver.all.filter(({ url }) => url === '/elsewhere').length, 0)
  receiver.answer = { status: 200 }
  await clinic.subscribe('broken', 'Patient', hook('broken?key=correct-horse', { header }))
  receiver.answer = { status: 500 }
  await clinic.put(patient('f1'))
  const broken = await clinic.whenStatus('broken', 'error', 5_000)
  assert.match(broken.error, /failed for 5 minutes; the endpoint answered with the status 500/)
  assert.not.ok(broken.error.includes('correct-horse'))
  assert.not.ok(JSON.stringify(clinic.server.lines).includes('correct-horse'))
  const tries = receiver.all.filter(({ url, number }) => url.startsWith('/broken') && number === 1).length
  assert.ok(tries > 5 && tries < 20, `${tries} tries`)
  receiver.answer = { status: 200 }
})

test('an endpoint that switches protocols is asked again, and names of headers are those that objects have too', async () => {
  const header = ['constructor: a', 'toString: b', '__proto__: c']
  await clinic.subscribe('switching', 'Patient', hook('switching', { header, ...JSON_PAYLOAD }))
  receiver.answer = { status: 101, headers: { connection: 'Upgrade', upgrade: 'other' } }
  await clinic.put(patient('switched'))
  const asked = () => receiver.all.filter(({ url }) => url.startsWith('/switching'))
  await clinic.pass(() => asked().length >= 2, 'the second request')
  receiver.answer = { status: 200 }
  await whenTaken('switching', 1)
  const sent = asked()[0]?.headers as Record<string, string>
  assert.equal(
    // Node's object of received headers cannot have the third.
    ['constructor', 'tostring'].map((name) => sent[name]),
    ['a', 'b'],
  )
  await off('switching')
})

test('a host that resolves to an address that is not public is not connected to, unless that address is listed too', async () => {
  const port = receiver.host.split(':')[1]
  const endpoint = `http://localhost:${port}/name`
  const ask = async (hosts: readonly string[], status: string) => {
    const other = await subscriptionClinic({ subscriptions: { rest_hook_hosts: hosts } })
    await other.put(subscription('name', 'Patient', { type: 'rest-hook', endpoint }))
    const { error } = await other.whenStatus('name', status, 2_000)
    await other.stop()
    return error
  }
  const before = receiver.all.length
  assert.match(await ask([`localhost:${port}`], 'error'), /has an address that is not public/)
  assert.is(receiver.all.length, before)
  await ask([`localhost:${port}`, '127.0.0.1', '[::1]'], 'active')
  assert.is(receiver.all.length, before + 1)
})

test('a Subscription ends by itself', async () => {
  const end = new Date(clinic.clock.now() + 120_000).toISOString()
  await clinic.put(subscription('ends', 'Patient', hook('ends', JSON_PAYLOAD), { end }))
  await clinic.whenStatus('ends', 'active')
  await clinic.whenStatus('ends', 'off', 10_000)
  await clinic.put(patient('e1'))
  assert.equal(receiver.numbers('/ends'), [])
})

test.run()

/** Live queries over a WebSocket: pages, `ready`, and deltas in the order of commits. */
// npm test: postgres, where transactions overlap
// memory: reads wait there while a transaction is open
import { once } from 'node:events'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { WebSocket } from 'ws'
import sync from '../../../plugins/sync/index.ts'
import { openSync, type SyncClient } from '../../support/sync-client.ts'
import { until } from '../../support/until.ts'
import { refusedWith } from '../sessions/callers.ts'
import { type Clinic, clinicWith, del, post, put } from '../writes/clinic.ts'

let clinic: Clinic
let address: string
let client: SyncClient
test.before(async () => {
  clinic = await clinicWith({ server: { bind: '127.0.0.1:0' } }, [sync])
  address = await clinic.server.listen()
})
test.after(() => clinic.stop())
test.before.each(async () => {
  client = await openSync(address)
})
test.after.each(async () => {
  assert.equal(client.faults, [])
  await client.close()
})

const patient = (id: string, more: object = {}) => ({ resourceType: 'Patient', id, active: true, ...more })
const change = (resource: { id: string; resourceType: string }) =>
  clinic.ask('PUT', `/${resource.resourceType}/${resource.id}`, resource)
const deltas = (id: string): readonly string[] =>
  client.messages
    .filter(({ op, ids }) => op === 'delta' && ids.includes(id))
    .map(({ kind, reference, version }) => `${kind} ${reference} ${version}`)

test('the connection says that it needs no token where nobody tells callers apart', async () => {
  const welcome = await client.next(({ op }) => op === 'welcome')
  assert.equal(welcome, { op: 'welcome', needsToken: false })
})

test('a set comes in pages of 50, then ready, then what enters, changes and leaves', async () => {
  const entries = Array.from({ length: 120 }, (_, at) =>
    post(patient(`x`, { gender: 'other', birthDate: `19${10 + (at % 80)}` })),
  )
  await clinic.bundle('transaction', entries)
  await client.subscribe('p', 'Patient?gender=other')
  const pages = client.messages.filter(({ op }) => op === 'page')
  assert.equal(
    pages.map(({ resources, more }) => [resources.length, more]),
    [
      [50, true],
      [50, true],
      [20, false],
    ],
  )
  await change(patient('new', { gender: 'other' }))
  await change(patient('new', { gender: 'other', birthDate: '2000' }))
  await change(patient('new', { gender: 'male' }))
  await change(patient('new', { gender: 'other' }))
  await clinic.ask('DELETE', '/Patient/new')
  await client.next(({ kind, version }) => kind === 'leave' && version === 5)
  assert.equal(deltas('p'), [
    'enter Patient/new 1',
    'change Patient/new 2',
    'leave Patient/new 3',
    'enter Patient/new 4',
    'leave Patient/new 5',
  ])
  const entered = client.messages.find(({ kind }) => kind === 'enter')
  assert.equal([entered?.resource.gender, entered?.resource.meta.versionId], ['other', '1'])
})

test('the changes of a Bundle are deltas of one commit; other types and other resources are none', async () => {
  await change(patient('b1'))
  await change(patient('b2'))
  await client.subscribe('b', 'Patient?_id=b1,b2,b3')
  await clinic.bundle('transaction', [
    put(patient('b1', { gender: 'male' })),
    del('Patient/b2'),
    put(patient('b3')),
    put(patient('b4')),
    post({ resourceType: 'Organization', name: 'x' }),
  ])
  await client.next(({ reference }) => reference === 'Patient/b3')
  await client.next(({ reference }) => reference === 'Patient/b2')
  assert.equal([...deltas('b')].sort(), ['change Patient/b1 2', 'enter Patient/b3 1', 'leave Patient/b2 2'])
})

test('stored numbers keep their digits, and a message is one line', async () => {
  await client.subscribe('o', 'Observation?code=dig')
  const text = `{\n"resourceType":"Observation","id":"dig",\r\n"status":"final","code":{"coding":[{"code":"dig"}]},"valueQuantity":{"value":1.00}}`
  await clinic.ask('PUT', '/Observation/dig', text)
  const delta = await client.next(({ reference }) => reference === 'Observation/dig')
  assert.is(delta.kind, 'enter')
})

test('messages arrive whole, on both sides of each length at which frames differ', async () => {
  const socket = new WebSocket(`${address.replace('http', 'ws')}/sync`)
  const texts: string[] = []
  socket.on('message', (data) => texts.push(data.toString()))
  await once(socket, 'open')
  const next = async (count: number): Promise<string> => {
    await until(() => texts.length >= count, 5_000, `message ${count}`)
    return texts[count - 1] as string
  }
  await next(1) // the welcome
  /** An id of 64 characters with which a `reset` has so many bytes. */
  const idFor = (length: number): string => {
    const wide = length - '{"op":"reset","id":"","reason":"gap"}'.length - 64
    return 'ü'.repeat(wide) + 'i'.repeat(64 - wide)
  }
  for (const length of [125, 126, 127]) {
    const count = texts.length + 1
    socket.send(JSON.stringify({ op: 'subscribe', id: idFor(length), query: 'Patient?_id=l', resume: 'x' }))
    assert.is(Buffer.byteLength(await next(count)), length)
  }
  socket.send(JSON.stringify({ op: 'subscribe', id: 'l', query: 'Patient?_id=l' }))
  await until(() => texts.some((text) => text.includes('"ready"')), 5_000, 'the query')
  let padding = 60_000
  const send = async (): Promise<string> => {
    const count = texts.length + 1
    await change(patient('l', { name: [{ text: `ü${'x'.repeat(padding)}` }] }))
    return next(count)
  }
  padding += 65_535 - Buffer.byteLength(await send())
  // `kind` is enter before, and change from now on; the number of the version has one digit.
  padding -= Buffer.byteLength(await send()) - 65_535
  for (const length of [65_535, 65_536, 65_537]) {
    const text = await send()
    assert.is(Buffer.byteLength(text), length)
    assert.is(JSON.parse(text).resource.name[0].text, `ü${'x'.repeat(padding)}`)
    padding += 1
  }
  socket.terminate()
})

test('two queries of one connection, an unsubscribed one gets nothing more', async () => {
  await client.subscribe('one', 'Patient?family=zz')
  await client.subscribe('two', 'Patient?family=zz')
  client.send({ op: 'unsubscribe', id: 'one' })
  await client.subscribe('three', 'Patient?_id=none')
  await change(patient('zz', { name: [{ family: 'ZZ' }] }))
  await client.next(({ op }) => op === 'delta')
  assert.equal([deltas('one'), deltas('two')], [[], ['enter Patient/zz 1']])
})

test('what is refused is an error of the query, and the connection lives on', async () => {
  for (const [query, code] of [
    ['Patient?_sort=name', 'not-supported'],
    ['Patient?_count=5', 'not-supported'],
    ['Patient?_include=Patient:organization', 'not-supported'],
    ['Patient?_total=accurate', 'not-supported'],
    ['Patient?_contained=true', 'not-supported'],
    ['Patient?nonsense=1', 'not-supported'],
    ['patient', 'value'],
    ['?_type=Patient', 'value'],
    ['Nothing?x=1', 'not-supported'],
  ] as const) {
    const answer = await client.subscribe('r', query)
    assert.equal([answer.op, answer.final, answer.outcome.resourceType], ['error', true, 'OperationOutcome'], query)
    if (query !== 'Patient?nonsense=1' && !query.startsWith('Nothing'))
      assert.is(answer.outcome.issue[0].code, code, query)
  }
  assert.is((await client.subscribe('r', 'Patient?_id=x')).op, 'ready')
  const twice = await client.subscribe('r', 'Patient?_id=y')
  assert.equal([twice.op, twice.final, twice.outcome.issue[0].code], ['error', false, 'duplicate'])
  const from = client.messages.length
  client.send({ op: 'more', id: 'unknown' })
  assert.is((await client.next(({ op }) => op === 'error', from)).final, false)
})

test('a message that is none closes the connection with 4400', async () => {
  for (const text of ['{', '[]', '{"op":"drop"}', '{"op":"subscribe","id":"x"}', '{"op":"more","id":"a","more":1}']) {
    const other = await openSync(address)
    other.send(text)
    assert.match(await refusedWith(() => other.next(() => false)), /4400/)
  }
  const other = await openSync(address)
  other.send(`"${'x'.repeat(70_000)}"`)
  assert.match(await refusedWith(() => other.next(() => false)), /1009/)
})

test('a page of another origin may not open it, the own one may', async () => {
  assert.match(await refusedWith(() => openSync(address, { headers: { origin: 'https://evil.example.org' } })), /403/)
  await (await openSync(address, { headers: { origin: address } })).close()
})

test('a query that only a search can decide is asked again', async () => {
  await change(patient('c1', { name: [{ family: 'Chain' }] }))
  const of = (id: string) => ({
    resourceType: 'Observation',
    id,
    status: 'final',
    code: { text: 'x' },
    subject: { reference: 'Patient/c1' },
  })
  await change(of('c-o1'))
  const ready = await client.subscribe('c', 'Observation?subject:Patient.family=Chain')
  assert.is(ready.op, 'ready')
  assert.equal([...client.sets.get('c')!.keys()], ['Observation/c-o1'])
  await change(of('c-o2'))
  await client.next(({ kind, reference }) => kind === 'enter' && reference === 'Observation/c-o2')
  await change(patient('c1', { name: [{ family: 'Other' }] }))
  await client.next(({ kind, reference }) => kind === 'leave' && reference === 'Observation/c-o2')
  await client.next(({ kind, reference }) => kind === 'leave' && reference === 'Observation/c-o1')
})

test('resume gives what has changed since, and nothing else', async () => {
  for (const id of ['r1', 'r2', 'r3', 'r4']) await change(patient(id, { gender: 'female' }))
  await client.subscribe('g', 'Patient?gender=female')
  const at = client.lastAt('g') as string
  const had = new Map(client.sets.get('g'))
  await client.close()
  await change(patient('r1', { gender: 'female', birthDate: '1990' }))
  await clinic.ask('DELETE', '/Patient/r2')
  await change(patient('r3', { gender: 'male' }))
  await change(patient('r5', { gender: 'female' }))
  await change(patient('r6', { gender: 'female' }))
  await clinic.ask('DELETE', '/Patient/r6')
  client = await openSync(address)
  client.sets.set('g', had)
  assert.is((await client.subscribe('g', 'Patient?gender=female', at)).op, 'ready')
  assert.equal([...deltas('g')].sort(), [
    'change Patient/r1 2',
    'enter Patient/r5 1',
    'leave Patient/r2 2',
    'leave Patient/r3 2',
  ])
  assert.equal([...client.sets.get('g')!.keys()].sort(), ['Patient/r1', 'Patient/r4', 'Patient/r5'])
  const otherQuery = await client.subscribe('h', 'Patient?gender=male', at)
  assert.equal([otherQuery.op, otherQuery.reason], ['reset', 'gap'])
  assert.is((await client.subscribe('i', 'Patient?gender=female', 'x')).reason, 'gap')
})

test('a position is bound to its query, also where its parts are taken from two', async () => {
  await client.subscribe('one', 'Patient?gender=female')
  const early = client.lastAt('one') as string
  await change(patient('s1', { gender: 'female' }))
  await client.next(({ op, ids }) => op === 'delta' && ids.includes('one'))
  const later = client.lastAt('one') as string
  await client.subscribe('two', 'Patient?gender=male')
  const other = client.lastAt('two') as string
  const half = other.length / 2
  const reasonOf = async (id: string, at: string) =>
    (await client.subscribe(id, 'Patient?gender=male', at)).reason ?? 'none'
  assert.is(await reasonOf('whole', other), 'none')
  assert.is(await reasonOf('first', later), 'gap')
  assert.is(await reasonOf('from before', `${early.slice(0, half)}${other.slice(half)}`), 'gap')
  assert.is(await reasonOf('other half', `${other.slice(0, half)}${early.slice(half)}`), 'gap')
  assert.is(await reasonOf('swapped', `${other.slice(half)}${other.slice(0, half)}`), 'gap')
})

test.run()

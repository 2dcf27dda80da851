/** SearchParameters that clients post, change, retire and delete work like those of packages, while others write. */
// npm test: postgres, on which it has a test more
// memory: reads wait there while a transaction is open
// process: its own, as posting.ts sets up the tests of the file that imports it first.
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { definePlugin } from '../../../kernel/index.ts'
import references from '../../../plugins/references/index.ts'
import { chosenKind } from '../../support/database-kinds.ts'
import {
  find,
  parameter,
  patient,
  put,
  putAll,
  type Resource,
  restart,
  searchParams,
  send,
  server,
  tidy,
} from './posting.ts'

test('an active parameter finds what was stored before it and after it', async () => {
  await putAll(Array.from({ length: 150 }, (_, at) => patient(`p${at}`, at % 50 === 0 ? 'Jr' : 'Sr')))
  await put({ ...patient('gone', 'Jr') })
  await server.inject({ method: 'DELETE', url: '/Patient/gone' })
  assert.is((await server.inject('/Patient?suffix=jr')).statusCode, 400)
  assert.is((await send('POST', parameter())).statusCode, 201)
  await put(patient('later', 'Jr'))
  assert.equal(await find('/Patient?suffix=jr'), ['later', 'p0', 'p100', 'p50'])
  assert.equal(await find('/Patient?suffix:missing=true'), [])
  await put(patient('p0', 'Sr'))
  await put(patient('none'))
  assert.equal(await find('/Patient?suffix=jr'), ['later', 'p100', 'p50'])
  assert.equal(await find('/Patient?suffix:missing=true'), ['none'])
  assert.equal(await find('/Patient?suffix=jr&given=gp50'), ['p50'])
  assert.equal(
    (await searchParams('Patient')).filter(({ name }) => name === 'suffix'),
    [{ name: 'suffix', definition: 'http://example.org/suffix', type: 'string' }],
  )
})

test('an operator that is left to the interpreter may stand inside a condition', async () => {
  await put({ ...patient('a'), name: [{ use: 'official', suffix: ['Jr'] }] })
  await put({ ...patient('b'), name: [{ use: 'old', suffix: ['Jr'] }] })
  const posted = await send(
    'PUT',
    parameter({ expression: "Patient.name.where(use in ('usual' | 'official')).suffix" }),
  )
  assert.is(posted.statusCode, 201, posted.body)
  await put({ ...patient('c'), name: [{ use: 'usual', suffix: ['Jr'] }] })
  assert.equal(await find('/Patient?suffix=jr'), ['a', 'c'])
  await tidy('SearchParameter/suffix', 'Patient/a', 'Patient/b', 'Patient/c')
})

test('writes made while the index is completed are found, whichever way they went', async () => {
  await putAll(Array.from({ length: 300 }, (_, at) => patient(`p${at}`, 'old')))
  const writes: Promise<unknown>[] = []
  for (let at = 0; at < 100; at += 1) writes.push(put(patient(`p${at * 3}`, 'new')))
  const posted = send('POST', parameter())
  for (let at = 0; at < 100; at += 1) writes.push(put(patient(`n${at}`, 'new')))
  for (let at = 0; at < 50; at += 1)
    writes.push(server.inject({ method: 'DELETE', url: `/Patient/p${at * 3 + 1}` }) as any)
  assert.is((await posted).statusCode, 201)
  await Promise.all(writes)
  const ids = (from: string[]) => from.sort()
  assert.equal(
    await find('/Patient?suffix=new&_count=1000'),
    ids([...Array.from({ length: 100 }, (_, at) => `p${at * 3}`), ...Array.from({ length: 100 }, (_, at) => `n${at}`)]),
  )
  const old = Array.from({ length: 300 }, (_, at) => at).filter((at) => at % 3 === 2 || (at % 3 === 1 && at >= 150))
  assert.equal(await find('/Patient?suffix=old&_count=1000'), ids(old.map((at) => `p${at}`)))
})

test('a write that began before the parameter and ends after it is found', async () => {
  // SQLite has one writer: the parameter would wait for that write.
  if (chosenKind.name !== 'postgres') return tidy()
  const reached = Promise.withResolvers<void>()
  const released = Promise.withResolvers<void>()
  const gate = definePlugin({
    name: 'gate',
    setup({ hooks }) {
      hooks.onWrite.tapPromise('hold', async ({ next }) => {
        if (next.id !== 'slow') return
        reached.resolve()
        await released.promise
      })
    },
  })
  await restart([gate])
  await put(patient('quick', 'Jr'))
  const slow = put(patient('slow', 'Jr'))
  await reached.promise
  assert.is((await send('PUT', parameter())).statusCode, 201)
  for (let times = 0; times < 30; times += 1)
    assert.is((await server.inject('/Patient?suffix=jr')).statusCode, 503, 'complete before that write has ended')
  released.resolve()
  await slow
  assert.equal(await find('/Patient?suffix=jr'), ['quick', 'slow'])
})

test('a changed expression indexes anew, and the old values are gone', async () => {
  await put(patient('a', 'Jr', { maritalStatus: { coding: [{ code: 'M' }] } }))
  await put(patient('b', 'Sr', { address: [{ district: 'Jr' }] }))
  await send('PUT', parameter())
  assert.equal(await find('/Patient?suffix=jr'), ['a'])
  await put(parameter({ expression: 'Patient.address.district' }))
  assert.equal(await find('/Patient?suffix=jr'), ['b'])
  assert.equal(await find('/Patient?suffix=sr'), [])
  await put(parameter({ expression: 'Patient.name.suffix' }))
  assert.equal(await find('/Patient?suffix=jr'), ['a'])
  await put(parameter({ expression: 'Patient.maritalStatus', type: 'token' }))
  assert.equal(await find('/Patient?suffix=M'), ['a'])
  await tidy('SearchParameter/suffix', 'Patient/a', 'Patient/b')
})

test('retired, deleted or made a draft it is refused again and its rows are removed', async () => {
  await put(patient('a', 'Jr'))
  for (const end of ['retired', 'draft', 'deleted']) {
    await put(parameter())
    assert.equal(await find('/Patient?suffix=jr'), ['a'])
    if (end === 'deleted') await server.inject({ method: 'DELETE', url: '/SearchParameter/suffix' })
    else await put(parameter({ status: end }))
    const answer = await server.inject('/Patient?suffix=jr')
    assert.is(answer.statusCode, 400, end)
    assert.is(answer.json().issue[0].code, 'not-supported')
    assert.equal(
      (await searchParams('Patient')).filter(({ name }) => name === 'suffix'),
      [],
    )
  }
  await tidy('Patient/a')
})

test('a draft is stored and changes nothing', async () => {
  assert.is((await send('PUT', parameter({ status: 'draft', expression: 'no ( such' }))).statusCode, 201)
  assert.is((await server.inject('/Patient?suffix=jr')).statusCode, 400)
  await tidy('SearchParameter/suffix')
})

test('it is at work after a restart, and an index that was not complete is completed', async () => {
  if (chosenKind.name === 'memory') return tidy()
  await putAll(Array.from({ length: 250 }, (_, at) => patient(`p${at}`, 'Jr')))
  assert.is((await send('PUT', parameter())).statusCode, 201)
  await restart()
  assert.is((await find('/Patient?suffix=jr&_count=1000')).length, 250)
  await restart()
  assert.is((await server.inject('/Patient?suffix=jr')).statusCode, 200)
  await put(parameter({ id: 'other', url: 'http://example.org/other', code: 'other' }))
  await restart()
  assert.is((await server.inject({ method: 'DELETE', url: '/SearchParameter/suffix' })).statusCode, 204)
  assert.is((await server.inject('/Patient?suffix=jr')).statusCode, 400)
  assert.is((await find('/Patient?other=jr&_count=1000')).length, 250)
})

test('every type of parameter, extensions, several bases, and expressions that are no plain paths', async () => {
  const made = async (code: string, type: string, expression: string, base = ['Patient'], more: Resource = {}) =>
    put(parameter({ id: code, url: `http://example.org/${code}`, code, type, expression, base, ...more }))
  await put(
    patient('a', 'Jr', {
      extension: [{ url: 'http://x/eye', valueCodeableConcept: { coding: [{ system: 's', code: 'blue' }] } }],
      contact: [{ period: { start: '2020-01-01' }, organization: { reference: 'Organization/o' } }],
      multipleBirthInteger: 3,
    }),
  )
  await put({ resourceType: 'Organization', id: 'o', name: 'Acme', alias: ['Big Acme', 'Small'] })
  await put({
    resourceType: 'Observation',
    id: 'obs',
    status: 'final',
    code: { coding: [{ code: 'c' }] },
    subject: { reference: 'Patient/a' },
    referenceRange: [{ low: { value: 5, unit: 'mg', code: 'mg' }, type: { coding: [{ code: 'normal' }] } }],
  })
  await made('eye', 'token', "Patient.extension.where(url = 'http://x/eye').value")
  await made('contact-period', 'date', 'Patient.contact.period')
  await made('contact-organization', 'reference', 'Patient.contact.organization', ['Patient'], {
    target: ['Organization'],
  })
  await made('birth-order', 'number', 'Patient.multipleBirth.ofType(integer)')
  await made('range-low', 'quantity', 'Observation.referenceRange.low', ['Observation'])
  await made('alias-two', 'string', 'Organization.alias.skip(1).first()', ['Organization'])
  await made('second-birth-order', 'number', 'Patient.multipleBirth.ofType(integer).skip(0)')
  await made('names', 'number', 'Patient.name.count()')
  await made('has-name', 'token', 'Patient.name.exists()')
  await made('first-low', 'quantity', 'Observation.referenceRange.low.take(1)', ['Observation'])
  await made('only-given', 'string', 'Patient.name.given.single()')
  await put({ resourceType: 'Patient', id: 'two', name: [{ given: ['One', 'Two'] }] })
  await made('any-name', 'string', 'Patient.name.given | Organization.alias', ['Patient', 'Organization'])
  await made('range-type', 'token', 'Observation.referenceRange.type', ['Observation'])
  await made('range', 'composite', 'Observation.referenceRange', ['Observation'], {
    component: [
      { definition: 'http://example.org/range-type', expression: 'type' },
      { definition: 'http://example.org/range-low', expression: 'low' },
    ],
  })
  const FOUND: readonly (readonly [string, readonly string[]])[] = [
    ['/Patient?eye=s|blue', ['a']],
    ['/Patient?eye=s|green', []],
    ['/Patient?contact-period=ge2019', ['a']],
    ['/Patient?contact-organization=Organization/o', ['a']],
    ['/Patient?contact-organization.name=acme', ['a']],
    ['/Organization?_has:Patient:contact-organization:eye=blue', ['o']],
    ['/Patient?_include=Patient:contact-organization&eye=blue', ['a', 'o']],
    ['/Patient?birth-order=3', ['a']],
    ['/Patient?second-birth-order=3', ['a']],
    ['/Patient?second-birth-order=gt3', []],
    ['/Patient?only-given=ga', ['a']],
    ['/Patient?only-given=one', []],
    ['/Patient?names=1', ['a', 'two']],
    ['/Patient?has-name=true', ['a', 'two']],
    ['/Observation?first-low=5||mg', ['obs']],
    ['/Observation?range-low=gt4', ['obs']],
    ['/Observation?range-low=gt5', []],
    ['/Organization?alias-two=small', ['o']],
    ['/Organization?alias-two=big', []],
    ['/Organization?any-name=big', ['o']],
    ['/Patient?any-name=ga', ['a']],
    ['/Observation?range=normal$5', ['obs']],
    ['/Observation?range=normal$6', []],
    ['/Patient?_sort=contact-period', ['a', 'two']],
  ]
  for (const [url, ids] of FOUND) assert.equal(await find(encodeURI(url)), ids, url)
})

test('resources that others contain are found by it as well, those from before too', async () => {
  const observation = (id: string, suffix: string): Resource => ({
    resourceType: 'Observation',
    id,
    status: 'final',
    code: { coding: [{ code: 'c' }] },
    contained: [{ ...patient('inner', suffix) }],
    subject: { reference: '#inner' },
  })
  await putAll(Array.from({ length: 120 }, (_, at) => observation(`o${at}`, at % 40 === 0 ? 'Jr' : 'Sr')))
  await put(parameter())
  await put(observation('later', 'Jr'))
  const contained = '/Patient?_contained=true&_containedType=container&suffix=jr'
  assert.equal(await find(contained), ['later', 'o0', 'o40', 'o80'])
  assert.equal(await find('/Patient?suffix=jr'), [])
  await put(parameter({ expression: 'Patient.name.given' }))
  assert.equal(await find(contained), [])
  assert.is((await find(contained.replace('suffix=jr', 'suffix=ginner&_count=1000'))).length, 121)
  await put(parameter())
  assert.equal(await find(contained), ['later', 'o0', 'o40', 'o80'])
})

test('what refers to a resource is known whatever becomes of the parameter that holds it', async () => {
  await restart([references], { reference_policy: 'strict' })
  await put({ resourceType: 'Organization', id: 'o', name: 'Acme' })
  const contact = parameter({ type: 'reference', target: ['Organization'], expression: 'Patient.contact.organization' })
  await put(patient('before', undefined, { contact: [{ organization: { reference: 'Organization/o' } }] }))
  await put(contact)
  await put(patient('after', undefined, { contact: [{ organization: { reference: 'Organization/o' } }] }))
  assert.equal(await find('/Patient?suffix=Organization/o'), ['after', 'before'])
  const isTold = async (): Promise<void> => {
    const answer = await server.inject({ method: 'DELETE', url: '/Organization/o' })
    assert.is(answer.statusCode, 409, answer.body)
    assert.match(answer.body, /referred to by 2 Patient resources\./)
  }
  await isTold()
  await server.inject({ method: 'DELETE', url: '/SearchParameter/suffix' })
  await isTold()
  // And without what a package has for it.
  const own = (await searchParams('Patient')).find(({ name }) => name === 'organization')
  await put(patient('after', undefined, { managingOrganization: { reference: 'Organization/o' } }))
  await put(
    parameter({
      url: own?.definition,
      code: 'organization',
      type: 'reference',
      expression: 'Patient.contact.organization',
    }),
  )
  assert.equal(await find('/Patient?organization=Organization/o'), ['before'])
  await isTold()
})

test('with the url of a package’s parameter it takes that one’s place, and gives it back', async () => {
  await put(patient('a', 'Jr'))
  const given = (await searchParams('Patient')).find(({ name }) => name === 'given')
  assert.equal(await find('/Patient?given=ga'), ['a'])
  await put(parameter({ url: given?.definition, code: 'given' }))
  assert.equal(await find('/Patient?given=jr'), ['a'])
  assert.equal(await find('/Patient?given=ga'), [])
  await put(parameter({ url: given?.definition, code: 'given', status: 'retired' }))
  assert.is((await server.inject('/Patient?given=ga')).statusCode, 400)
  await server.inject({ method: 'DELETE', url: '/SearchParameter/suffix' })
  assert.equal(await find('/Patient?given=ga'), ['a'])
  assert.equal(await find('/Patient?given=jr'), [])
})

test.run()

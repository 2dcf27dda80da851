/** What plugins do with the data, for a request, for a stored caller and for the server itself: rulings, events, quota. */
// memory: reads wait there while a transaction is open
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { ALL, type Restriction } from '../../../kernel/index.ts'
import type { Session, Who } from '../../../plugins/fhir/service.ts'
import { matching, onlyTypes } from '../../support/restrictions.ts'
import { all, type Callers, callersWith, refusedWith } from './callers.ts'

const ACTIVE = matching('Patient', 'active=true')
let callers: Callers
let seen: string
let hidden: string
test.before(async () => {
  callers = await callersWith()
  const { clinic } = callers
  seen = await clinic.create({ resourceType: 'Patient', active: true })
  hidden = await clinic.create({ resourceType: 'Patient', active: false })
  await clinic.create({ resourceType: 'Observation', subject: { reference: `Patient/${seen}` } })
})
test.after(() => callers.clinic.stop())
test.before.each(() => {
  callers.restrictions.clear()
  callers.facts.length = callers.asked.length = 0
})

/** Each kind of session, restricted where it can be: `internal` sees everything. */
const sessions = async (restriction: Restriction): Promise<readonly (readonly [string, Session])[]> => {
  callers.restrictions.set('app', restriction)
  return [
    ['request', await callers.request('app')],
    ['stored', callers.stored('app', [JSON.parse(JSON.stringify(restriction)) as Restriction])],
    ['internal', callers.internal()],
  ]
}

test('read: ruled on by the taps, by what was stored, or not at all', async () => {
  for (const [who, session] of await sessions(ACTIVE)) {
    callers.facts.length = callers.asked.length = 0
    const { type, id, version, json, parse } = await session.read('Patient', seen).then((held) => ({
      ...held,
      json: held.json,
      parse: held.parse(),
    }))
    assert.equal(
      [type, id, version, parse.active, json.includes('"active":true')],
      ['Patient', seen, 1, true, true],
      who,
    )
    assert.is((await session.read('Patient', seen, 1)).version, 1)
    const isOpen = who === 'internal'
    assert.is(await refusedWith(() => session.read('Patient', hidden)), isOpen ? 'nothing' : '404 fhir/not-found', who)
    assert.is(await refusedWith(() => session.read('Patient', seen, 7)), '404 fhir/version-not-found', who)
    assert.is(await refusedWith(() => session.read('Nothing', 'x')), '404 fhir/unknown-type', who)
    assert.equal(
      callers.told(),
      isOpen ? [] : ['read Patient 200', 'vread Patient 200', 'read Patient 404', 'vread Patient 404'],
      who,
    )
    const interactions = ['read Patient', 'vread Patient', 'read Patient', 'vread Patient']
    assert.equal(callers.asked, who === 'request' ? interactions : [], who)
  }
})

test('search: a page with what is included, its total, and the token of the next one', async () => {
  for (const [who, session] of await sessions(ACTIVE)) {
    callers.facts.length = callers.asked.length = 0
    const isOpen = who === 'internal'
    const first = await session.search('Patient', '_count=1&_total=accurate')
    assert.equal([first.matches.length, first.total], [1, isOpen ? 2 : 1], who)
    assert.is(first.next === undefined, !isOpen)
    if (isOpen) {
      const second = await session.search('Patient', '_count=1&_total=accurate', { after: first.next as string })
      assert.equal([...first.matches, ...second.matches].map(({ id }) => id).sort(), [seen, hidden].sort())
      assert.is(second.next, undefined)
    }
    const { matches, included } = await session.search('Observation', '_include=Observation:subject')
    assert.equal([matches.map(({ type }) => type), included.map(({ id }) => id)], [['Observation'], [seen]], who)
    assert.is(await refusedWith(() => session.search('Patient', 'nonsense=1')), '400 fhir/search-parameter-unknown')
    const refused = 'search-type Patient 400'
    assert.equal(callers.told(), isOpen ? [] : ['search-type Patient 200', 'search-type Observation 200', refused], who)
    if (!isOpen) assert.is(callers.facts[0]?.details?.query?.(), '_count=1&_total=accurate')
    if (!isOpen) assert.equal(callers.facts[1]?.details?.patients?.(), [`Patient/${seen}`])
  }
})

test('a type that is not granted is 403, also for what was stored', async () => {
  for (const [who, session] of await sessions(onlyTypes('Patient'))) {
    const expected = who === 'internal' ? 'nothing' : '403 fhir/type-forbidden'
    for (const work of [
      () => session.search('Observation', ''),
      () => all(session.stream('Observation', '')),
      () => all(session.history({ type: 'Observation' })),
      () => session.matches('Observation', ''),
      () => session.ruling('Observation'),
      () => session.change([{ kind: 'create', type: 'Observation', json: '{"resourceType":"Observation"}' }]),
    ]) {
      callers.facts.length = 0
      assert.is(await refusedWith(work), expected, `${who} ${work}`)
      if (who !== 'internal')
        assert.equal(
          callers.facts.map(({ status }) => status),
          [403],
          `${who} ${work}`,
        )
    }
  }
})

test('stream: told page by page for a request, once with its number for a stored caller, not for the server', async () => {
  for (const [who, session] of await sessions(ACTIVE)) {
    callers.facts.length = callers.asked.length = 0
    const ids = (await all(session.stream('Patient', ''))).map(({ id }) => id)
    assert.equal(ids, who === 'internal' ? [hidden, seen] : [seen], who)
    assert.equal(callers.told(), who === 'internal' ? [] : ['search-type Patient 200'], who)
    assert.is(callers.facts[0]?.details?.count, who === 'stored' ? 1 : undefined, who)
    assert.equal(callers.facts[0]?.details?.patients?.(), who === 'request' ? [`Patient/${seen}`] : undefined, who)
    assert.is(await refusedWith(() => all(session.stream('Patient', '_sort=name'))), '400 fhir/session-parameter')
    assert.is(await refusedWith(() => all(session.stream('Patient', '', { after: 'x' }))), '400 fhir/session-key')
  }
})

test('history: versions with their methods, those that may be seen', async () => {
  const { clinic } = callers
  const id = await clinic.create({ resourceType: 'Patient', active: true })
  await clinic.ask('PUT', `/Patient/${id}`, { resourceType: 'Patient', id, active: false })
  await clinic.ask('DELETE', `/Patient/${id}`)
  for (const [who, session] of await sessions(ACTIVE)) {
    callers.facts.length = callers.asked.length = 0
    const versions = await all(session.history({ type: 'Patient', id }))
    const methods = versions.map(({ method, json, version }) => [version, method, json === undefined])
    const whole = [
      [3, 'DELETE', true],
      [2, 'PUT', false],
      [1, 'POST', false],
    ]
    assert.equal(methods, who === 'internal' ? whole : [whole[2]], who)
    const told = who === 'internal' ? [] : ['history-instance Patient 200']
    assert.equal(callers.told(), told, who)
    assert.is(callers.facts[0]?.details?.count, who === 'stored' ? 1 : undefined)
  }
  const session = callers.internal()
  const every = await all(session.history({}))
  const [newest, second] = every
  assert.equal((await all(session.history({ after: newest?.key as string })))[0], second)
  assert.equal(
    (await all(session.history({ type: 'Patient' }))).map(({ key }) => key),
    every.filter(({ type }) => type === 'Patient').map(({ key }) => key),
  )
  const { lastUpdated } = every[2]!
  const until = await all(session.history({ upTo: lastUpdated }))
  assert.ok(until.every((one) => one.lastUpdated <= lastUpdated))
  assert.equal(
    until.map(({ key }) => key),
    every.filter((one) => one.lastUpdated <= lastUpdated).map(({ key }) => key),
  )
  const since = await all(session.history({ since: lastUpdated }))
  assert.equal(
    since.map(({ key }) => key),
    every.filter((one) => one.lastUpdated >= lastUpdated).map(({ key }) => key),
  )
  assert.is(await refusedWith(() => all(session.history({ type: 'Patient', id: 'never' }))), '404 fhir/not-found')
})

test('ruling: what applies, as plain data that makes the same session again', async () => {
  callers.restrictions.set('app', ACTIVE)
  const restrictions = await (await callers.request('app')).ruling('Patient')
  assert.equal(restrictions, [ACTIVE])
  assert.equal(callers.told(), [], 'a ruling shows no data')
  const again = JSON.parse(JSON.stringify(restrictions)) as readonly Restriction[]
  callers.restrictions.clear()
  const session = callers.stored('app', again)
  assert.equal(
    (await all(session.stream('Patient', ''))).map(({ id }) => id),
    [seen],
  )
  assert.equal(await session.ruling('Patient'), again)
  assert.equal(await callers.internal().ruling('Patient'), [])
})

test('what a plugin stored wrongly is a 500, and so is somebody who is nobody', async () => {
  const misspelt = callers.stored('app', [{ types: { Patiant: [ALL] }, others: [ALL] }])
  assert.is(await refusedWith(() => misspelt.read('Patient', seen)), '500 kernel/restriction-malformed')
  const malformed = callers.stored('app', [{ types: {}, others: [{ rights: 'everything' }] } as unknown as Restriction])
  assert.is(await refusedWith(() => malformed.search('Patient', '')), '500 kernel/restriction-malformed')
  assert.is(
    await refusedWith(async () => callers.resources.as({ kind: 'anybody' } as unknown as Who)),
    '500 fhir/session-who',
  )
})

test('requests of sessions have ids and times of their own, and say that the server made them', async () => {
  const session = callers.stored('app')
  await session.read('Patient', seen)
  await session.read('Patient', seen)
  const [one, other] = callers.facts.map(({ request }) => request)
  assert.is.not(one?.id, other?.id)
  assert.equal([one?.origin, one?.url, one?.baseUrl], ['server', '/-/export', 'https://fhir.example.org'])
  assert.equal(one?.caller, { kind: 'client', client: 'app' })
})

test('who gives up ends the work', async () => {
  const controller = new AbortController()
  const session = callers.resources.as({ kind: 'internal', purpose: 'test', signal: controller.signal })
  const stream = session.stream('Patient', '')
  controller.abort()
  assert.match(await refusedWith(() => all(stream)), /abort/)
})

test('read of a version: one that was hidden is answered as one that never was', async () => {
  const { clinic } = callers
  const id = await clinic.create({ resourceType: 'Patient', active: false })
  const opened = await clinic.ask('PUT', `/Patient/${id}`, { resourceType: 'Patient', id, active: true })
  assert.is(opened.status, 200, opened.text)
  for (const [who, session] of await sessions(ACTIVE)) {
    const refusal = async (version: number): Promise<unknown> => {
      const { status, key, message } = await session.read('Patient', id, version).then(
        () => ({ status: 200, key: undefined, message: '' }),
        (error) => error,
      )
      return { status, key, message: message.replace(String(version), 'N') }
    }
    assert.is((await session.read('Patient', id, 2)).version, 2, who)
    if (who === 'internal') assert.is((await session.read('Patient', id, 1)).version, 1)
    else assert.equal(await refusal(1), await refusal(7), who)
  }
})

test.run()

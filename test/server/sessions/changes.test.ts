/** Changes that plugins make: one transaction with checks, hooks and events of HTTP, and rows of the plugin beside. */
// memory: reads wait there while a transaction is open
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { defineError, definePlugin, type Restriction } from '../../../kernel/index.ts'
import { Database, sql, type Transaction } from '../../../plugins/database/service.ts'
import type { SessionChange } from '../../../plugins/fhir/service.ts'
import { matching } from '../../support/restrictions.ts'
import { type Callers, callersWith, refusedWith } from './callers.ts'

const Forbidden = defineError('notes/forbidden', 422, 'business-rule', 'Nobody is called so.')
const written: string[] = []
const committed: string[] = []
const notes = definePlugin({
  name: 'notes',
  migrations: [{ name: 'notes/0001-notes', sql: ['CREATE TABLE notes (text varchar(100))'] }],
  setup({ hooks }) {
    hooks.onWrite.tap('note', ({ interaction: { kind }, next, resource }) => {
      if ((resource?.name as { text?: string }[] | undefined)?.[0]?.text === 'Nobody') throw Forbidden()
      written.push(`${kind} ${next.type} ${next.version}`)
    })
    hooks.onCommit.tap('note', ({ request: { url }, changes }) => void committed.push(`${url} ${changes.length}`))
  },
})
const insert = sql('notes.insert', 'INSERT INTO notes (text) VALUES (?)')
const read = sql('notes.read', 'SELECT text FROM notes ORDER BY text')

const json = (content: object): string => JSON.stringify({ resourceType: 'Patient', ...content })
const patient = (content: object): SessionChange => ({ kind: 'create', type: 'Patient', json: json(content) })

let callers: Callers
test.before(async () => {
  callers = await callersWith({ quota: { writes_per_day: 30 } }, [notes])
})
test.after(() => callers.clinic.stop())
test.before.each(() => {
  callers.restrictions.clear()
  callers.facts.length = callers.asked.length = written.length = committed.length = 0
})
const rows = async (): Promise<readonly string[]> =>
  (await callers.clinic.server.get(Database).all<{ text: string }>(read, [])).map(({ text }) => text)
const versionOf = async (id: string) => (await callers.clinic.ask('GET', `/Patient/${id}`)).json

test('each change is told as over HTTP, hooked and committed at once, for whoever makes them', async () => {
  for (const [who, session] of [
    ['request', await callers.request('app')],
    ['stored', callers.stored('app')],
    ['internal', callers.internal()],
  ] as const) {
    callers.facts.length = callers.asked.length = written.length = committed.length = 0
    const [one, gone] = (await session.change([patient({ active: true }), patient({})])).changed
    const made = await session.change([
      {
        kind: 'modify',
        type: 'Patient',
        id: one?.id as string,
        revise: (text) => JSON.stringify({ ...JSON.parse(text), active: false }),
      },
      patient({ language: 'en' }),
      { kind: 'delete', type: 'Patient', id: gone?.id as string },
    ])
    assert.equal(
      made.changed.map((done) => [done?.version, done?.created, done?.written, done?.json === undefined]),
      [
        [2, false, true, false],
        [1, true, true, false],
        [2, false, true, true],
      ],
      who,
    )
    const interactions = ['create', 'create', 'delete', 'create', 'patch'].map((kind) => `${kind} Patient`)
    assert.equal(
      callers.told(),
      ['create Patient 201', 'create Patient 201', 'delete Patient 204', 'create Patient 201', 'patch Patient 200'],
      who,
    )
    assert.equal(written, [
      'create Patient 1',
      'create Patient 1',
      'delete Patient 2',
      'create Patient 1',
      'patch Patient 2',
    ])
    assert.equal(
      committed.map((line) => line.split(' ')[1]),
      ['2', '3'],
    )
    if (who === 'request') assert.equal([...callers.asked].sort(), [...interactions].sort())
    else assert.equal(callers.asked, [], who)
    assert.equal((await versionOf(one?.id as string)).active, false)
    assert.is((await callers.clinic.ask('GET', `/Patient/${gone?.id}`)).status, 410)
  }
})

test('all or nothing: what a hook, a precondition or the content refuses undoes the others, and is told', async () => {
  const id = await callers.clinic.create({ resourceType: 'Patient', active: true })
  const before = await callers.clinic.ids('Patient')
  const session = callers.stored('app')
  for (const [expected, last, status] of [
    ['422 notes/forbidden', patient({ name: [{ text: 'Nobody' }] }), 422],
    ['412 fhir/version-conflict', { kind: 'update', type: 'Patient', id, json: json({ id }), ifMatch: 7 }, 412],
    ['400 fhir/id-mismatch', { kind: 'update', type: 'Patient', id, json: json({ id: 'other' }) }, 400],
    ['404 fhir/not-found', { kind: 'modify', type: 'Patient', id: 'never', revise: () => undefined }, 404],
    ['400 fhir/session-twice', { kind: 'delete', type: 'Patient', id }, 400],
  ] as const) {
    callers.facts.length = 0
    const first: SessionChange = { kind: 'update', type: 'Patient', id, json: json({ id, active: false }) }
    const changes = expected.includes('412') || expected.includes('mismatch') ? [patient({}), last] : [first, last]
    const error = await refusedWith(() => session.change(changes as readonly SessionChange[]))
    assert.is(error, expected)
    assert.equal(callers.facts.at(-1)?.status, status, expected)
    assert.equal(await callers.clinic.ids('Patient'), before, expected)
    assert.is((await versionOf(id)).active, true, expected)
  }
})

test('beside: rows of the plugin are stored with the changes, or not at all', async () => {
  const session = callers.internal()
  const note =
    (text: string) =>
    async (transaction: Transaction): Promise<void> => {
      await transaction.run(insert, [text])
    }
  await session.change([patient({ active: true })], note('kept'))
  assert.equal(await rows(), ['kept'])
  const refusing = session.change([patient({ name: [{ text: 'Nobody' }] })], note('lost'))
  assert.is(await refusedWith(() => refusing), '422 notes/forbidden')
  const before = await callers.clinic.ids('Patient')
  const failing = session.change([patient({})], async (transaction) => {
    await note('lost')(transaction)
    throw new Error('on purpose')
  })
  assert.is(await refusedWith(() => failing), 'on purpose')
  assert.equal([await rows(), await callers.clinic.ids('Patient')], [['kept'], before])
  let seen: unknown
  await session.change([patient({ language: 'de' })], (_transaction, { changed }) => {
    seen = [changed[0]?.version, changed[0]?.json?.includes('"de"')]
  })
  assert.equal(seen, [1, true])
})

test('conditions find, create and exclude each other, as over HTTP', async () => {
  const session = callers.internal()
  const identifier = (value: string) => ({ identifier: [{ system: 'http://a', value }] })
  const condition = 'identifier=http://a|1'
  const create: SessionChange = { kind: 'create', type: 'Patient', json: json(identifier('1')), condition }
  const many = await Promise.all(Array.from({ length: 8 }, () => session.change([create])))
  const ids = new Set(many.map(({ changed }) => changed[0]?.id))
  assert.equal([ids.size, many.filter(({ changed }) => changed[0]?.created).length], [1, 1])
  const [id] = [...ids] as [string]
  const update = await session.change([
    { kind: 'update', type: 'Patient', condition, json: json({ ...identifier('1'), active: true }) },
    { kind: 'update', type: 'Patient', condition: 'identifier=http://a|2', json: json(identifier('2')) },
    { kind: 'delete', type: 'Patient', condition: 'identifier=http://a|none' },
  ])
  assert.equal(
    update.changed.map((one) => one && [one.id === id, one.version, one.created]),
    [[true, 2, false], [false, 1, true], undefined],
  )
  const revise = (text: string): string => JSON.stringify({ ...JSON.parse(text), language: 'fr' })
  await session.change([{ kind: 'modify', type: 'Patient', condition, revise }])
  assert.is((await versionOf(id)).language, 'fr')
  await session.change([{ kind: 'create', type: 'Patient', json: json(identifier('1')) }])
  assert.is(
    await refusedWith(() => session.change([{ kind: 'delete', type: 'Patient', condition }])),
    '412 fhir/many-matches',
  )
})

test('revisions of one resource at the same time lose nothing', async () => {
  const id = await callers.clinic.create({ resourceType: 'Patient', multipleBirthInteger: 0 })
  const sessions = [callers.internal(), callers.stored('app'), await callers.request('app')]
  const add = (text: string): string => {
    const resource = JSON.parse(text) as { multipleBirthInteger: number }
    return JSON.stringify({ ...resource, multipleBirthInteger: resource.multipleBirthInteger + 1 })
  }
  await Promise.all(
    Array.from({ length: 9 }, (_, at) =>
      sessions[at % 3]?.change([{ kind: 'modify', type: 'Patient', id, revise: add }]),
    ),
  )
  const { multipleBirthInteger, meta } = await versionOf(id)
  assert.equal([multipleBirthInteger, meta.versionId], [9, '10'])
})

test('the access of a stored caller covers what it changes, and what it is told', async () => {
  const active: Restriction = matching('Patient', 'active=true')
  const blind: Restriction = { types: { Patient: [{ rights: 'c' }] }, others: [] }
  const { clinic } = callers
  const [seen, hidden] = [
    await clinic.create({ resourceType: 'Patient', active: true }),
    await clinic.create({ resourceType: 'Patient', active: false }),
  ]
  const session = callers.stored('app', [active])
  const touch = (id: string, to: boolean): SessionChange => ({
    kind: 'modify',
    type: 'Patient',
    id,
    revise: (text) => JSON.stringify({ ...JSON.parse(text), active: to, language: 'en' }),
  })
  assert.is(await refusedWith(() => session.change([touch(hidden, true)])), '404 fhir/not-found')
  assert.is(await refusedWith(() => session.change([touch(seen, false)])), '403 fhir/outside-access')
  assert.is((await session.change([touch(seen, true)])).changed[0]?.version, 2)
  const [made] = (await callers.stored('app', [blind]).change([patient({ active: true })])).changed
  assert.equal([made?.created, made?.json], [true, undefined])
  assert.is(
    await refusedWith(() => callers.internal().change([{ kind: 'create', type: 'AuditEvent', json: '{}' }])),
    '404 fhir/unknown-type',
  )
})

test('writes of a stored caller and of a request are the quota of their client, those of the server are nobody’s', async () => {
  const create = (client: string) =>
    callers.clinic.ask('POST', '/Patient', { resourceType: 'Patient' }, { headers: { 'x-test-client': client } })
  const times = async (count: number, work: () => Promise<unknown>): Promise<void> => {
    for (let n = 0; n < count; n += 1) await work()
  }
  const internal = callers.internal()
  await times(31, () => internal.change([patient({})]))
  const stored = callers.stored('exporter')
  await stored.change(Array.from({ length: 20 }, () => patient({})))
  assert.is((await create('exporter')).status, 201)
  const request = await callers.request('exporter')
  await request.change(Array.from({ length: 9 }, () => patient({})))
  assert.is((await create('exporter')).status, 429)
  assert.is((await create('other')).status, 201)
})

test.run()

/**
 * Entries of a batch that run one after the other: the changes of a type with a conditional change.
 * https://hl7.org/fhir/R4/http.html#brules
 */
// memory: reads wait there while a transaction is open
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { definePlugin } from '../../../kernel/index.ts'
import { Fhir } from '../../../plugins/fhir/service.ts'
import { type Clinic, clinicWith, del, type Entry, type Json, post, put } from './clinic.ts'

const S = 'http://order.example'
const SLOW = 'x-slow'
const ROUNDS = 5

/** Holds entries with the language SLOW until another entry is examined, or until nothing else is under way. */
let examined: string[] = []
let others: (() => Promise<void>) | undefined
const gate = definePlugin({
  name: 'gate',
  needs: { fhir: Fhir },
  setup({ needs }) {
    needs.fhir.check({
      name: 'gate',
      checkContent({ resource }) {
        examined.push(`${resource.resourceType}${resource.language === SLOW ? ' slow' : ''}`)
        return resource.language === SLOW ? others?.() : undefined
      },
    })
  },
})

let clinic: Clinic
test.before(async () => {
  clinic = await clinicWith({}, [gate])
})
test.before.each(() => {
  examined = []
  others = undefined
})
test.after(() => clinic.stop())

let last = 0
const fresh = (): string => {
  last += 1
  return `v${last}`
}
const patient = (value: string, more: Json = {}): Json => ({
  resourceType: 'Patient',
  identifier: [{ system: S, value }],
  ...more,
})
const query = (value: string): string => `identifier=${S}|${value}`
const putBy = (value: string, more: Json = {}): Entry =>
  put(patient(value, more), undefined, { url: `Patient?${query(value)}` })
const statuses = async (entry: readonly Entry[]): Promise<readonly string[]> => {
  const { status, json, text } = await clinic.bundle('batch', entry)
  assert.is(status, 200, text)
  return json.entry.map(({ response }: Json) => response.status.slice(0, 3))
}
const found = async (value: string): Promise<readonly Json[]> => {
  const { json } = await clinic.ask('GET', `/Patient?${query(value)}`)
  return (json.entry ?? []).map(({ resource }: Json) => resource)
}
/** While the first of two entries is held, the turns of the event loop that the second would need to overtake it. */
const giveWay = async (): Promise<void> => {
  for (let turn = 0; turn < 200; turn += 1) await new Promise(setImmediate)
}

test('a conditional create finds what a plain create before it has made', async () => {
  others = giveWay
  for (let round = 0; round < ROUNDS; round += 1) {
    const value = fresh()
    const entries = [
      post(patient(value, { language: SLOW })),
      post(patient(value), undefined, { ifNoneExist: query(value) }),
    ]
    assert.equal(await statuses(entries), ['201', '200'])
    assert.is((await found(value)).length, 1)
  }
})

test('of two conditional updates the later one wins', async () => {
  others = giveWay
  for (let round = 0; round < ROUNDS; round += 1) {
    const value = fresh()
    const entries = [putBy(value, { gender: 'female', language: SLOW }), putBy(value, { gender: 'male' })]
    assert.equal(await statuses(entries), ['201', '200'])
    const [one, ...more] = await found(value)
    assert.equal([one?.gender, one?.meta.versionId, more.length], ['male', '2', 0])
  }
})

test('a conditional update finds what an update by id before it has made', async () => {
  others = giveWay
  for (let round = 0; round < ROUNDS; round += 1) {
    const value = fresh()
    const entries = [put(patient(value, { id: value, language: SLOW })), putBy(value, { gender: 'male' })]
    assert.equal(await statuses(entries), ['201', '200'])
    const [one, ...more] = await found(value)
    assert.equal([one?.id, one?.gender, more.length], [value, 'male', 0])
  }
})

test('criteria that lead through another type find what the entries before have made of it', async () => {
  others = giveWay
  const value = fresh()
  const organization = { resourceType: 'Organization', id: value, name: value, language: SLOW }
  assert.is((await clinic.ask('PUT', `/Organization/${value}`, { ...organization, name: 'before' })).status, 201)
  const managed = patient(value, { managingOrganization: { reference: `Organization/${value}` } })
  const id = await clinic.create(managed)
  const url = `Patient?organization.name=${value}`
  assert.equal(await statuses([put(organization), put({ ...managed, gender: 'male' }, undefined, { url })]), [
    '200',
    '200',
  ])
  assert.equal(
    (await found(value)).map(({ id, gender }) => [id, gender]),
    [[id, 'male']],
  )
})

test('changes of other types, and changes of a type without a condition, run at the same time', async () => {
  const value = fresh()
  /** The first entry goes on when the second is examined: were they one after the other, it would wait for ever. */
  others = async () => {
    while (examined.length < 2) {
      waits += 1
      assert.ok(waits < 10_000, `nothing ran beside the first entry: ${examined}`)
      await new Promise(setImmediate)
    }
  }
  let waits = 0
  const basic = { resourceType: 'Basic' }
  const beside = [post(patient(value, { language: SLOW }), undefined, { ifNoneExist: query(value) }), post(basic)]
  assert.equal(await statuses(beside), ['201', '201'])
  examined = []
  waits = 0
  assert.equal(await statuses([post({ ...basic, language: SLOW }), post(basic)]), ['201', '201'])
})

test('the second change of one id is refused, in the order of R4, and the first is performed', async () => {
  others = giveWay
  const id = fresh()
  const first = put(patient(id, { id, gender: 'female', language: SLOW }))
  assert.equal(await statuses([first, put(patient(id, { id, gender: 'male' }))]), ['201', '400'])
  assert.is((await clinic.ask('GET', `/Patient/${id}`)).json.gender, 'female')
  const patch = {
    resource: { resourceType: 'Binary', contentType: 'application/json-patch+json', data: 'W10=' },
    request: { method: 'PATCH', url: `Patient/${id}` },
  }
  assert.equal(await statuses([put(patient(id, { id, gender: 'other', language: SLOW })), patch]), ['200', '400'])
  assert.equal(await statuses([put(patient(id, { id })), del(`Patient/${id}`)]), ['400', '204'])
  assert.is((await clinic.ask('GET', `/Patient/${id}`)).status, 410)
})

test.run()

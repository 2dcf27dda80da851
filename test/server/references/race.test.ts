/** Under reference_policy = "strict" a deletion and a reference to what it deletes, sent at once, never both pass. */
// npm test: sqlite and postgres, whose statements differ
// memory: reads wait there while a transaction is open
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import references from '../../../plugins/references/index.ts'
import { type Answered, type Clinic, clinicWith, del, type Json, post } from '../writes/clinic.ts'

const ROUNDS = 40
let clinic: Clinic
test.before(async () => {
  clinic = await clinicWith({}, [references])
})
test.after(() => clinic.stop())

const observation = (subject: string): Json => ({
  resourceType: 'Observation',
  status: 'final',
  code: { text: 'x' },
  subject: { reference: subject },
})

test('of a deletion and references made at the same time either stands, and what stands is whole', async () => {
  const outcomes = { deleted: 0, referred: 0 }
  for (let round = 0; round < ROUNDS; round += 1) {
    const target = `Patient/${await clinic.create({ resourceType: 'Patient' })}`
    const remove = () =>
      round % 4 === 0 ? clinic.bundle('transaction', [del(target)]) : clinic.ask('DELETE', `/${target}`)
    const refer = () =>
      round % 3 === 0
        ? clinic.bundle('transaction', [post({ resourceType: 'Patient' }), post(observation(target))])
        : clinic.ask('POST', '/Observation', observation(target))
    const asked = round % 2 === 0 ? [remove(), refer(), refer()] : [refer(), refer(), remove()]
    const answers = await Promise.all(asked)
    const [removed, ...referred] = (round % 2 === 0 ? answers : answers.toReversed()) as [Answered, ...Answered[]]
    const isDeleted = [200, 204].includes(removed.status)
    const made = referred.filter(({ status }) => [200, 201].includes(status)).length
    const statuses = answers.map(({ status }) => status).join(' ')
    if (isDeleted) assert.is(made, 0, statuses)
    else assert.is(removed.status, 409, statuses)
    for (const { status } of referred) assert.ok([200, 201, 422].includes(status), statuses)
    assert.is((await clinic.ask('GET', `/${target}`)).status, isDeleted ? 410 : 200)
    if (isDeleted) outcomes.deleted += 1
    else outcomes.referred += 1
  }
  assert.is(outcomes.deleted + outcomes.referred, ROUNDS)
})

test('updates of a resource and references to it made at the same time all pass', async () => {
  const id = await clinic.create({ resourceType: 'Patient' })
  const update = (at: number) =>
    clinic.ask('PUT', `/Patient/${id}`, { resourceType: 'Patient', id, name: [{ family: `${at}` }] })
  const refer = () => clinic.ask('POST', '/Observation', observation(`Patient/${id}`))
  const answers = await Promise.all(Array.from({ length: 24 }, (_, at) => (at % 2 === 0 ? update(at) : refer())))
  assert.equal(
    answers.map(({ status }) => status),
    answers.map((_, at) => (at % 2 === 0 ? 200 : 201)),
  )
})

test('two transactions that update one resource each and refer to that of the other both pass', async () => {
  const [one, other] = [
    await clinic.create({ resourceType: 'Patient' }),
    await clinic.create({ resourceType: 'Patient' }),
  ]
  const linked = (id: string, to: string, round: number) => ({
    resource: {
      resourceType: 'Patient',
      id,
      active: round % 2 === 0,
      link: [{ other: { reference: `Patient/${to}` }, type: 'seealso' }],
    },
    request: { method: 'PUT', url: `Patient/${id}` },
  })
  for (let round = 0; round < 10; round += 1) {
    const answers = await Promise.all([
      clinic.bundle('transaction', [linked(one, other, round)]),
      clinic.bundle('transaction', [linked(other, one, round)]),
    ])
    assert.equal(
      answers.map(({ status }) => status),
      [200, 200],
    )
  }
})

test.run()

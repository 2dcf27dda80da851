/** Under reference_policy = "strict" what was found held once is still looked for when it may have been deleted since. */
// memory: reads wait there while a transaction is open
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import references from '../../../plugins/references/index.ts'
import { type Answered, type Clinic, clinicWith, del, type Json, post } from '../writes/clinic.ts'

const ROUNDS = 20
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
const refer = (target: string): Promise<Answered> => clinic.ask('POST', '/Observation', observation(target))

/** A patient that was referred to, twice, and is not any more. */
const referredTo = async (): Promise<string> => {
  const target = `Patient/${await clinic.create({ resourceType: 'Patient' })}`
  for (let n = 0; n < 2; n += 1) {
    const { status, json, text } = await refer(target)
    assert.is(status, 201, text)
    assert.is((await clinic.ask('DELETE', `/Observation/${json.id}`)).status, 204)
  }
  // The last deletion may have come before what was found became known.
  const { json } = await refer(target)
  const { json: last } = await refer(target)
  await clinic.bundle('transaction', [del(`Observation/${json.id}`), del(`Observation/${last.id}`)])
  return target
}

test('a deleted resource is not held any more, however often it was referred to', async () => {
  const target = await referredTo()
  assert.is((await clinic.ask('DELETE', `/${target}`)).status, 204)
  assert.is((await refer(target)).status, 422)
})

test('a transaction that deletes a resource cannot refer to it, however often others did', async () => {
  const target = await referredTo()
  assert.is((await clinic.bundle('transaction', [del(target), post(observation(target))])).status, 422)
  assert.is((await refer(target)).status, 201)
})

test('a deletion and references to what was referred to before never both pass', async () => {
  let deletions = 0
  for (let round = 0; round < ROUNDS; round += 1) {
    const target = await referredTo()
    const remove = () => clinic.ask('DELETE', `/${target}`)
    const answers = await Promise.all(
      round % 2 === 0 ? [refer(target), remove(), refer(target)] : [remove(), refer(target), refer(target)],
    )
    const isDeleted = answers.some(({ status }) => status === 204)
    if (isDeleted) deletions += 1
    const made = answers.filter(({ status }) => status === 201).length
    assert.is(made > 0, !isDeleted, answers.map(({ status }) => status).join(' '))
    assert.is((await clinic.ask('GET', `/${target}`)).status, isDeleted ? 410 : 200)
  }
  assert.ok(deletions > 0)
})

test.run()

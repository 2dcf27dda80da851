/** $expunge of a patient's record: a job that erases the compartment, what was deleted of it, and the Patient. */
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { chosenKind } from '../../support/database-kinds.ts'
import {
  bodiesOf,
  CANARY,
  expungeServer,
  observation,
  patient,
  plugins,
  tablesWith,
  withExpunge,
} from './expunge-server.ts'

test('a record is erased with all that was deleted of it, and others stay', () =>
  withExpunge(async (server) => {
    const id = await server.create(patient())
    const other = await server.create({ resourceType: 'Patient', active: true })
    const kept = await server.create({ ...observation(`Patient/${other}`), code: { text: 'kept' } })
    const encounter = {
      ...{ resourceType: 'Encounter', status: 'finished', class: { code: 'AMB' } },
      subject: { reference: `Patient/${id}` },
    }
    const visit = await server.create(encounter)
    const one = observation(`Patient/${id}`, { encounter: { reference: `Encounter/${visit}` } })
    const mine = await server.createAll(Array.from({ length: 130 }, () => one))
    assert.is(new Set(mine).size, 130)
    // An older resource refers to a newer one, so that it cannot be erased by itself.
    const first = observation(`Patient/${id}`, { id: mine[0], hasMember: [{ reference: `Observation/${mine[129]}` }] })
    assert.is((await server.send('PUT', `/Observation/${mine[0]}`, first)).statusCode, 200)
    assert.is((await server.send('DELETE', `/Observation/${mine[1]}`)).statusCode, 204)
    const begun = await server.send('POST', `/Patient/${id}/$expunge?compartment=true`)
    assert.is(begun.statusCode, 202, begun.body)
    const ended = await server.ended(begun.headers['content-location'])
    assert.is(ended.statusCode, 200, ended.body)
    assert.match(ended.body, 'The record is erased.')
    for (const made of mine) assert.is(await bodiesOf(server, 'Observation', made), 0, made)
    assert.is(await bodiesOf(server, 'Encounter', visit), 0)
    assert.is(await bodiesOf(server, 'Patient', id), 0)
    assert.is((await server.send('GET', `/Observation/${kept}`)).statusCode, 200)
    assert.equal(
      (await tablesWith(server)).filter((name) => !/^ix_words_|insert_buffer|backlog/.test(name)),
      [],
    )
    assert.is((await server.send('GET', '/_audit/verify')).json().ok, true)
    const unknown = await server.send('POST', '/Patient/none/$expunge?compartment=true')
    assert.is(unknown.statusCode, 404)
    const wrong = await server.send('POST', `/Observation/${kept}/$expunge?compartment=true`)
    assert.is(wrong.statusCode, 400)
  }))

test('the trail has an event for each erased resource of a record, also for those deleted before', () =>
  withExpunge(async (server) => {
    const id = await server.create(patient())
    const held = await server.create(observation(`Patient/${id}`))
    const gone = await server.create(observation(`Patient/${id}`))
    assert.is((await server.send('DELETE', `/Observation/${gone}`)).statusCode, 204)
    const events = async (query: string): Promise<string[]> => {
      const { entry = [] } = (await server.send('GET', `/_audit?_count=1000&${query}`)).json()
      return entry.map(({ resource }: any) => {
        const codes = resource.subtype.map(({ code }: { code: string }) => code)
        const named = resource.entity[0].what.reference.replace(/\/_history\/.*/, '')
        return `${codes.at(-1)} ${named}`
      })
    }
    const begun = await server.send('POST', `/Patient/${id}/$expunge?compartment=true`)
    assert.is(begun.statusCode, 202, begun.body)
    assert.is((await server.ended(begun.headers['content-location'])).statusCode, 200)
    const erased = [`Patient/${id}`, `Observation/${held}`, `Observation/${gone}`]
    // A search for the Patient finds the events of its data, too.
    for (const one of erased)
      assert.is((await events(`entity=${one}`)).filter((event) => event === `$expunge ${one}`).length, 1, one)
    assert.equal(
      (await events(`entity=Patient/${id}`)).filter((event) => event.startsWith('$expunge-record')),
      [`$expunge-record Patient/${id}`],
    )
    const ofPatient = (await events(`patient=Patient/${id}`)).filter((event) => event.startsWith('$expunge '))
    assert.equal(ofPatient.sort(), erased.map((one) => `$expunge ${one}`).sort())
    // Of the one that was deleted before there is no second deletion.
    for (const one of erased)
      assert.is((await events(`entity=${one}`)).filter((event) => event === `delete ${one}`).length, 1, one)
    const again = await server.send('POST', `/Patient/${id}/$expunge?compartment=true`)
    assert.is((await server.ended(again.headers['content-location'])).statusCode, 200)
    for (const one of erased)
      assert.is((await events(`entity=${one}`)).filter((event) => event === `$expunge ${one}`).length, 1, one)
    assert.is((await server.send('GET', '/_audit/verify')).json().ok, true)
    assert.not.match((await server.send('GET', '/_audit?_count=1000')).body, CANARY)
  }))

test('nothing of a record is erased while a resource in it is about other patients too', () =>
  withExpunge(async (server) => {
    const id = await server.create(patient())
    const other = await server.create({ resourceType: 'Patient', active: true })
    const seen = await server.create(observation(`Patient/${id}`))
    const member = [id, other].map((one) => ({ entity: { reference: `Patient/${one}` } }))
    const group = await server.create({ resourceType: 'Group', type: 'person', actual: true, member })
    const begun = await server.send('POST', `/Patient/${id}/$expunge?compartment=true`)
    const ended = await server.ended(begun.headers['content-location'])
    assert.is(ended.statusCode, 500, ended.body)
    assert.match(ended.body, `Group/${group}`)
    assert.is((await server.send('GET', `/Observation/${seen}`)).statusCode, 200)
  }))

test('a job that was interrupted goes on after a restart', async () => {
  if (chosenKind.name === 'memory') return
  const fresh = await chosenKind.fresh(plugins)
  let server = await expungeServer(fresh)
  try {
    const id = await server.create(patient())
    const mine = await server.createAll(Array.from({ length: 250 }, () => observation(`Patient/${id}`)))
    const begun = await server.send('POST', `/Patient/${id}/$expunge?compartment=true`)
    await server.stop()
    server = await expungeServer(fresh)
    const ended = await server.ended(begun.headers['content-location'])
    assert.is(ended.statusCode, 200, ended.body)
    for (const one of mine) assert.is(await bodiesOf(server, 'Observation', one), 0, one)
    assert.is((await server.send('GET', `/Patient/${id}`)).statusCode, 410)
  } finally {
    await server.stop()
    await fresh.remove()
  }
})

test.run()

/** Where the server gives the ids, a change of a hidden resource, a deleted one and one that never was are answered alike. */
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { inCompartment, matching } from '../../support/restrictions.ts'
import { type Asked, type Json, observation, openWorlds, patient, plain, type Worlds } from './worlds.ts'

const NEVER = '0190a000-0000-7000-8000-000000000000'
const PRECONDITIONS: readonly Record<string, string>[] = [
  {},
  { 'if-match': 'W/"1"' },
  { 'if-match': 'W/"2"' },
  { 'if-match': '*' },
  { 'if-none-match': '*' },
  { 'if-unmodified-since': 'Mon, 01 Jan 2001 00:00:00 GMT' },
]

let worlds: Worlds
const ids: string[] = []
let own = ''
test.before(async () => {
  worlds = await openWorlds(false)
  for (const { name, ask } of worlds.all) {
    const create = async (resource: Json): Promise<string> => {
      const { id: _id, ...body } = resource
      const answer = await ask({ method: 'POST', url: `/${resource.resourceType}`, body })
      assert.is(answer.status, 201, answer.text)
      return answer.json.id as string
    }
    own = await create(patient(''))
    const hidden = observation('', await create(patient('', { active: false })), { status: 'preliminary' })
    const id = name === 'never' ? NEVER : await create(hidden)
    if (name === 'deleted') assert.is((await ask({ method: 'DELETE', url: `/Observation/${id}` })).status, 204)
    ids.push(id)
  }
})
test.after(() => worlds.stop())

const changes = (id: string): readonly Asked[] =>
  PRECONDITIONS.flatMap((headers) => [
    { method: 'PUT', url: `/Observation/${id}`, headers, body: { ...observation(id, 'x'), subject: undefined } },
    { method: 'DELETE', url: `/Observation/${id}`, headers },
    {
      method: 'PATCH',
      url: `/Observation/${id}`,
      headers: { ...headers, 'content-type': 'application/json-patch+json' },
      body: [{ op: 'replace', path: '/status', value: 'final' }],
    },
    { method: 'GET', url: `/Observation/${id}`, headers },
  ])

test('every change is 404, whatever its precondition', async () => {
  worlds.restrict(matching('Observation', 'status=final'))
  for (const at of changes(NEVER).keys()) {
    const answers: string[] = []
    for (const [world, { ask }] of worlds.all.entries()) {
      const asked = changes(ids[world] as string)[at] as Asked
      const answer = await ask(asked)
      assert.is(answer.status, 404, `${JSON.stringify(asked)} ${answer.text}`)
      answers.push(plain(answer))
    }
    assert.equal(new Set(answers).size, 1, answers.join('\n'))
  }
})

test('405 tells that ids are given by the server only to who would see the resource', async () => {
  const put = (id: string): Asked => ({
    method: 'PUT',
    url: `/Patient/${id}`,
    body: patient(id),
  })
  worlds.restrict(matching('Observation', 'status=final'))
  assert.is((await worlds.all[0]!.ask(put(NEVER))).status, 405)
  worlds.restrict(inCompartment('Patient', own))
  assert.is((await worlds.all[0]!.ask(put(NEVER))).status, 403)
})

test.run()

/** $expunge of a resource: what it erases, what is left, and who may use it. */
import { readFileSync } from 'node:fs'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { chosenKind } from '../../support/database-kinds.ts'
import { createWorld } from '../../support/world.ts'
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

const refused = (answer: { statusCode: number; body: string }, status: number, text: string): void => {
  assert.is(answer.statusCode, status, answer.body)
  assert.match(answer.body, text)
}

test('all versions of a resource are erased, and nothing but its deletion is left', () =>
  withExpunge(async (server) => {
    const id = await server.create(patient())
    const other = await server.create(patient())
    const changed = await server.send('PUT', `/Patient/${id}`, patient({ id, gender: 'other' }))
    assert.is(changed.statusCode, 200, changed.body)
    assert.ok((await tablesWith(server)).includes('ix_text'))
    const answer = await server.send('POST', `/Patient/${id}/$expunge`)
    assert.is(answer.statusCode, 200, answer.body)
    assert.match(answer.json().issue[0].diagnostics, '2 past versions')
    assert.is((await server.send('GET', `/Patient/${id}`)).statusCode, 410)
    assert.is((await server.send('GET', `/Patient/${id}/_history/1`)).statusCode, 404)
    assert.is((await server.send('GET', `/Patient/${id}/_history/2`)).statusCode, 404)
    const history = (await server.send('GET', `/Patient/${id}/_history`)).json()
    assert.is(history.total, 1)
    assert.equal(
      history.entry.map(({ request, resource }: any) => [request.method, resource]),
      [['DELETE', undefined]],
    )
    const all = (await server.send('GET', '/_history')).json().entry
    assert.is(all.filter(({ fullUrl }: any) => fullUrl.endsWith(id)).length, 1)
    assert.is(await bodiesOf(server, 'Patient', id), 0)
    // The other patient has the same texts, which are still found.
    const found = async (query: string): Promise<string[]> =>
      ((await server.send('GET', `/Patient?${query}`)).json().entry ?? []).map(({ resource }: any) => resource.id)
    for (const query of [`family=${CANARY}`, `language:text=${CANARY}`, `_content=${CANARY}`])
      assert.equal(await found(query), [other], query)
    assert.is((await server.send('POST', `/Patient/${other}/$expunge`)).statusCode, 200)
    assert.equal(
      (await tablesWith(server)).filter((name) => !/^ix_words_|insert_buffer|backlog/.test(name)),
      [],
    )
    assert.equal(await found(`family=${CANARY}`), [])
    const again = await server.send('POST', `/Patient/${id}/$expunge`)
    assert.is(again.statusCode, 200, again.body)
    refused(await server.send('POST', '/Patient/none/$expunge'), 404, 'none')
    const verified = (await server.send('GET', '/_audit/verify')).json()
    assert.is(verified.ok, true, JSON.stringify(verified))
    assert.not.match((await server.send('GET', '/_audit?_count=1000')).body, CANARY)
    const trail = (await server.send('GET', '/_audit?_count=1000')).body
    assert.match(trail, 'expunge')
  }))

test('with versions=past the current version stays', () =>
  withExpunge(async (server) => {
    const id = await server.create(patient())
    await server.send('PUT', `/Patient/${id}`, { resourceType: 'Patient', id, active: true })
    const body = { resourceType: 'Parameters', parameter: [{ name: 'versions', valueCode: 'past' }] }
    const answer = await server.send('POST', `/Patient/${id}/$expunge`, body)
    assert.match(answer.json().issue[0].diagnostics, '1 past version of')
    const read = (await server.send('GET', `/Patient/${id}`)).json()
    assert.equal([read.active, read.meta.versionId], [true, '2'])
    assert.is((await server.send('GET', `/Patient/${id}/_history/1`)).statusCode, 404)
    assert.is((await server.send('GET', `/Patient/${id}/_history`)).json().total, 1)
    assert.is((await server.send('PUT', `/Patient/${id}`, { resourceType: 'Patient', id })).statusCode, 200)
    const history = (await server.send('GET', `/Patient/${id}/_history`)).json()
    assert.equal([history.total, history.entry.length], [2, 2])
    refused(await server.send('POST', `/Patient/${id}/$expunge?versions=some`), 400, 'all or past')
  }))

test('what others refer to is not erased', () =>
  withExpunge(async (server) => {
    const id = await server.create(patient())
    await server.create(observation(`Patient/${id}`))
    refused(await server.send('POST', `/Patient/${id}/$expunge`), 409, '1 Observation')
    assert.is((await server.send('GET', `/Patient/${id}`)).statusCode, 200)
  }))

test('only a client with all rights on everything may use it, or who is allowed by a setting', async () => {
  await withExpunge(async (server) => {
    const id = await server.create(patient())
    const url = `/Patient/${id}/$expunge`
    for (const scope of ['system/Patient.cruds', 'system/*.rs', 'system/*.cruds?_tag=x'])
      refused(await server.send('POST', url, undefined, scope), 403, '')
    const headers = { 'x-test-scope': 'user/*.cruds', 'x-test-user': 'Practitioner/p' }
    refused(await server.inject({ method: 'POST', url, headers }), 403, 'with the scope system/*.cruds')
    refused(await server.send('GET', url), 405, '$expunge changes what is stored, so it is invoked by POST')
    const entry = [{ request: { method: 'POST', url: url.slice(1) } }]
    const batch = await server.send('POST', '/', { resourceType: 'Bundle', type: 'batch', entry })
    assert.match(batch.json().entry[0].response.status, '400')
    assert.is((await server.send('GET', `/Patient/${id}`)).statusCode, 200)
  })
  const open = plugins.filter(({ name }) => name !== 'scoped-callers')
  const { serverWith } = await import('../../support/server-with.ts')
  for (const anonymous of [false, true]) {
    const server = await serverWith({ plugins: open, settings: { expunge: { anonymous } } })
    try {
      const headers = { 'content-type': 'application/fhir+json' }
      const made = await server.inject({ method: 'POST', url: '/Patient', headers, payload: JSON.stringify(patient()) })
      const answer = await server.inject({ method: 'POST', url: `/Patient/${made.json().id}/$expunge` })
      refused(answer, anonymous ? 200 : 403, anonymous ? 'erased' : 'anonymous = true')
    } finally {
      await server.stop()
    }
  }
})

test('after compact no byte of the file holds what was erased', async () => {
  if (chosenKind.name !== 'sqlite') return
  const fresh = await chosenKind.fresh(plugins)
  const path = (fresh.settings.database as { sqlite_path: string }).sqlite_path
  const holds = (): boolean => readFileSync(path).includes(CANARY)
  const compact = async (...argv: string[]) => {
    const world = createWorld({ plugins, argv: ['expunge', 'compact', ...argv] })
    try {
      return await world.run()
    } finally {
      world.remove()
    }
  }
  const server = await expungeServer(fresh)
  try {
    const id = await server.create(patient())
    await server.create(
      patient({ name: [{ family: 'Other' }], text: undefined, maritalStatus: undefined, communication: [] }),
    )
    await server.send('PUT', `/Patient/${id}`, patient({ id, gender: 'other' }))
    await server.stop()
    assert.ok(holds(), 'the file has it before')
    const second = await expungeServer(fresh)
    assert.is((await second.send('POST', `/Patient/${id}/$expunge`)).statusCode, 200)
    const busy = await compact('--sqlite', path)
    assert.equal([busy.code, busy.stderr.includes('stop the server first')], [1, true], busy.stderr)
    await second.stop()
    const done = await compact('--sqlite', path)
    assert.is(done.code, 0, done.stderr)
    assert.match(done.stdout, 'rewritten')
    assert.not.ok(holds())
    assert.is((await compact('--memory')).code, 2)
    const third = await expungeServer(fresh)
    assert.is((await third.send('GET', '/Patient?family=other')).json().total, 1)
    assert.is((await third.send('GET', '/_audit/verify')).json().ok, true)
    await third.stop()
  } finally {
    await fresh.remove()
  }
})

test('changes, reads and erasing of one resource meet without an error of the server, and nothing comes back', () =>
  withExpunge(async (server) => {
    for (let round = 0; round < 5; round += 1) {
      const id = await server.create(patient())
      const url = `/Patient/${id}`
      const answers = await Promise.all([
        server.send('PUT', url, patient({ id, gender: 'male' })),
        server.send('POST', `${url}/$expunge`),
        server.send('GET', url),
        server.send('GET', `${url}/_history`),
        server.send('POST', '/Observation', observation(`Patient/${id}`)),
        server.send('POST', `${url}/$expunge`),
        server.send('DELETE', url),
        server.send('PUT', url, patient({ id, gender: 'female' })),
      ])
      for (const { statusCode, body } of answers) assert.ok(statusCode < 500, body)
      const referring = answers[4]?.statusCode === 201
      const last = await server.send('POST', `${url}/$expunge`)
      if (referring && last.statusCode === 409) continue
      assert.is(last.statusCode, 200, last.body)
      assert.is((await server.send('GET', url)).statusCode, 410)
      assert.is(await bodiesOf(server, 'Patient', id), 0)
    }
  }))

test.run()

/** Search parameters of a package that is added later hold what was stored before, once the server is ready. */
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { createKernel } from '../../../kernel/index.ts'
import database from '../../../plugins/database/index.ts'
import { chosenKind } from '../../support/database-kinds.ts'
import { fhirPlugins } from '../../support/fhir-plugins.ts'
import { postTransaction } from '../../support/post-bundle.ts'
import { searchDefinitions } from '../../support/search-definitions.ts'
import { serverWith } from '../../support/server-with.ts'

test('until that is done it is starting, with the reason', async () => {
  if (chosenKind.name === 'memory') return
  const place = await chosenKind.fresh()
  const before = await serverWith({
    plugins: [database, searchDefinitions('Observation'), ...fhirPlugins],
    settings: place.settings,
  })
  const entry = Array.from({ length: 250 }, (_, at) => ({
    resource: { resourceType: 'Patient', name: [{ family: `Fam${at}` }], gender: 'male' },
    request: { method: 'POST', url: 'Patient' },
  }))
  await postTransaction(before, entry)
  assert.is((await before.inject('/Patient?gender=male')).statusCode, 400)
  await before.stop()

  const kernel = await createKernel({
    plugins: [database, searchDefinitions(), ...fhirPlugins],
    settings: place.settings,
    log: { level: 'silent' },
  })
  const reasons = new Set<string>()
  const starting = kernel.start()
  let over = false
  starting.finally(() => {
    over = true
  })
  while (!over) {
    const state = await kernel.readiness()
    if (state.status === 'starting') reasons.add(state.reason)
    const answer = await kernel.inject('/Patient?gender=male&_summary=count')
    if (answer.statusCode === 200) assert.is(answer.json().total, 250)
    else assert.is(answer.statusCode, 503)
    await new Promise(setImmediate)
  }
  await starting
  assert.ok(reasons.has('search indexes backfilling'), [...reasons].join())
  assert.equal(await kernel.readiness(), { status: 'ok' })
  assert.is((await kernel.inject('/Patient?gender=male&_summary=count')).json().total, 250)
  assert.is((await kernel.inject('/Patient?name=fam1&_summary=count')).json().total, 111)
  await kernel.stop()
  await place.remove()
})

test.run()

/** A database that takes no more: what the trail keeps, when it refuses, and what it says of what is lost. */
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import audit from '../../../plugins/audit/index.ts'
import { assertRefused } from '../../support/refused.ts'
import { basic, serverWith } from '../../support/server-with.ts'
import { watchedDatabase } from '../../support/watched-database.ts'

const FHIR = { 'content-type': 'application/fhir+json' }
const KEPT = 10_000 // events that wait for the database, as the README of the plugin says

test('reads go on until 10,000 events wait, then are 503; a stop says how many were lost', async () => {
  const { plugin, watch } = watchedDatabase()
  const server = await serverWith({ plugins: [plugin, ...basic.slice(1), audit] })
  const payload = '{"resourceType":"Patient"}'
  const made = await server.inject({ method: 'POST', url: '/Patient', headers: FHIR, payload })
  const url = `/Patient/${(made.json() as { id: string }).id}`
  watch.refuses = true
  let passed = 0
  let refused: Awaited<ReturnType<typeof server.inject>> | undefined
  for (; passed < KEPT + 100 && refused === undefined; passed += 1) {
    const answer = await server.inject(url)
    if (answer.statusCode === 503) refused = answer
    else assert.is(answer.statusCode, 200)
    // Requests that are injected do not wait for sockets, and the answer that confirms the writer lease comes through one.
    if (passed % 100 === 0) await new Promise(setImmediate)
  }
  assert.ok(passed >= KEPT && passed <= KEPT + 2, `${passed} passed`)
  assertRefused(refused!, { status: 503, code: 'transient' }, 'one too many')
  assert.is((await server.inject('/livez')).statusCode, 200)
  await server.stop()
  const told = server.lines.find(({ lost }) => lost !== undefined)
  assert.is(told?.level, 'error')
  // The last one counts the read that was refused.
  assert.is(told?.lost, KEPT + 1)
  assert.match(String(told?.msg), '10001 events could not be written to the audit trail and will be lost')
  assert.equal(server.failedToStop, ['audit'])
})

test('what could be written again before the stop is not lost', async () => {
  const { plugin, watch } = watchedDatabase()
  const server = await serverWith({ plugins: [plugin, ...basic.slice(1), audit] })
  watch.refuses = true
  for (let n = 0; n < 5; n += 1) await server.inject('/Patient/none')
  watch.refuses = false
  await server.stop()
  assert.equal(server.failedToStop, [])
  assert.is(
    server.lines.find(({ lost }) => lost !== undefined),
    undefined,
  )
})

test.run()

/** Clients that meet: what each was told is in the history, once, and nothing else is. By name: test/differential/run.ts. */
// npm test: sqlite and postgres, whose statements differ
// memory: reads wait there while a transaction is open
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { checkHistory } from '../../differential/check.ts'
import { runClients, type Send } from '../../differential/clients.ts'
import { clinicWith } from './clinic.ts'

test('600 random operations of 50 clients leave no gap, no duplicate and no lost update', async () => {
  const clinic = await clinicWith()
  const send: Send = (request) => clinic.server.inject(request)
  const outcome = await runClients(send, { clients: 50, operations: 600, seed: 7 })
  assert.equal(outcome.faults, [])
  assert.ok(outcome.made.length > 100)
  assert.equal(await checkHistory(send, outcome), [])
  await clinic.stop()
})

test('a change that is lost is found', async () => {
  const clinic = await clinicWith()
  const send: Send = (request) => clinic.server.inject(request)
  const { made, ...rest } = await runClients(send, { clients: 10, operations: 100, seed: 3 })
  const [first, second, ...others] = made
  assert.ok(first && second)
  const lost = await checkHistory(send, { ...rest, made: [second, ...others] })
  assert.match(lost.join('\n'), /nobody was told/)
  const invented = await checkHistory(send, { ...rest, made: [...made, { ...first, version: 9_999 }] })
  assert.match(invented.join('\n'), /is not there/)
  await clinic.stop()
})

test.run()

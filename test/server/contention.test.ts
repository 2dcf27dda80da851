/**
 * Many clients that change few resources: nobody is refused because the server waits for itself. How long answers may
 * take is held by `npm run check:contention`, on a machine that does nothing else.
 */
// npm test: postgres, where transactions overlap
// memory: reads wait there while a transaction is open
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import audit from '../../plugins/audit/index.ts'
import references from '../../plugins/references/index.ts'
import { runLoad, type Send } from '../contention/clients.ts'
import { type Clinic, clinicWith } from './writes/clinic.ts'

const CLIENTS = 40
const PATIENTS = 12
const OPERATIONS = 700

let clinic: Clinic
const send: Send = async ({ method, url, headers, body }) => {
  const { status, text } = await clinic.ask(method, url, body, headers === undefined ? {} : { headers })
  return { status, text }
}
test.before(async () => {
  clinic = await clinicWith({}, [audit, references])
})
test.after(() => clinic.stop())

test(`${CLIENTS} clients on ${PATIENTS} patients get no 5xx, and the trail has every change`, async () => {
  let left = OPERATIONS
  const isOver = (): boolean => {
    left -= 1
    return left < 0
  }
  const { faults, answers, kept } = await runLoad(send, {
    clients: CLIENTS,
    patients: PATIENTS,
    seed: 1,
    isOver,
  })
  assert.equal(faults, [])
  assert.ok(answers >= OPERATIONS, `${answers} answers`)
  for (const key of kept) assert.is((await clinic.ask('GET', `/${key}`)).status, 200, key)
  const failures = clinic.server.lines.filter(({ level }) => level === 'error')
  assert.equal(failures, [])
  assert.is((await clinic.ask('GET', '/_audit/verify')).json.ok, true)
})

test.run()

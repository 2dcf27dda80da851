/** A token that one server revokes is refused by the others within a second. */
// database: postgres, on which several servers share what is stored
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { postgresKind } from '../../support/database-kinds.ts'
import { createManualClock } from '../../support/manual-clock.ts'
import {
  ASSERTION_TYPE,
  assertionOf,
  freshForSmart,
  postForm,
  registerService,
  smartServer,
  tokenOf,
} from '../../support/smart-server.ts'

test('revoked on one server, a token is refused by the other a second later', async () => {
  const clock = createManualClock()
  const fresh = await freshForSmart(postgresKind)
  const one = await smartServer({ clock, settings: fresh.settings, together: true })
  const other = await smartServer({ clock, settings: fresh.settings, together: true })
  const service = await registerService(one)
  const token = await tokenOf(one, service, 'system/*.rs', clock.now())
  const read = () => other.inject({ url: '/Patient', headers: { authorization: `Bearer ${token}` } })
  assert.is((await read()).statusCode, 200)
  const proof = await assertionOf(service, { now: clock.now() })
  const form = { token, client_assertion_type: ASSERTION_TYPE, client_assertion: proof }
  assert.is((await postForm(one, '/oauth/revoke', form)).statusCode, 200)
  await clock.advance(1_000)
  assert.is((await read()).statusCode, 401)
  await other.stop()
  await one.stop()
  await fresh.remove()
})

test.run()

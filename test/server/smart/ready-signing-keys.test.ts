/** Servers of tests find their signing keys in the database: making a key takes a tenth of a second of CPU time. */
// database: memory
import { createPublicKey } from 'node:crypto'
import { calculateJwkThumbprint, type JWK } from 'jose'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { loginClinic } from '../../support/login-clinic.ts'
import { rsaKey } from '../../support/rsa-keys.ts'

test('a server of the tests publishes the keys of the run, however its plugins need each other', async () => {
  const server = await loginClinic()
  const { keys } = (await server.inject('/oauth/jwks')).json() as { keys: readonly JWK[] }
  const own = await Promise.all(
    [0, 1].map((at) => calculateJwkThumbprint(createPublicKey(rsaKey(at)).export({ format: 'jwk' }) as JWK)),
  )
  assert.equal(keys.map(({ kid }) => kid).sort(), own.sort())
  await server.stop()
})

test.run()

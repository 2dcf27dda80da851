/** A read with a token that the server has in its cache is answered in front of the router, as one without tokens is. */
// database: memory
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { definePlugin } from '../../../kernel/index.ts'
import { clinicPlugins, loginClinic, registerApp, tokensOf } from '../../support/login-clinic.ts'
import { createManualClock } from '../../support/manual-clock.ts'

const makesNoneWait = async (smart: Readonly<Record<string, unknown>>): Promise<void> => {
  const ways: string[] = []
  const witness = definePlugin({
    name: 'witness',
    setup({ hooks }) {
      hooks.admit.tap('see the way', ({ route }) => {
        const isDirect = /kernel\/direct-router\.ts/.test(new Error().stack ?? '')
        if (route === '/:type/:id') ways.push(isDirect ? 'direct' : 'usual')
        return undefined
      })
    },
  })
  const clock = createManualClock()
  const server = await loginClinic({ clock, smart, plugins: [...clinicPlugins, witness] })
  const address = await server.listen()
  const { access_token: token } = await tokensOf(server, await registerApp(server), 'launch/patient patient/*.rs')
  const read = async (): Promise<number> =>
    (await fetch(`${address}/Patient/p1`, { headers: { authorization: `Bearer ${token}` } })).status
  for (let n = 0; n < 4; n += 1) assert.is(await read(), 200)
  assert.equal(ways.slice(1), ['direct', 'direct', 'direct'])
  await clock.advance(1_000)
  assert.is(await read(), 200)
  await server.stop()
}

test('a token that was looked up within the second makes no request wait', () => makesNoneWait({}))

for (const fhir_user of ['Practitioner/doc', 'RelatedPerson/mother', 'Patient/p1'])
  test(`nor does that of a ${fhir_user.split('/')[0]}, whose record is looked at with it`, () =>
    makesNoneWait({ fhir_user }))

test.run()

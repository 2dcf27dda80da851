/** A caller who may change a resource and not read it cannot find out its content by sending guesses. */
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { ALL, definePlugin, type Restriction } from '../../../kernel/index.ts'
import { type Clinic, clinicWith, type Json, put } from '../writes/clinic.ts'

let restrictions: readonly Restriction[] = []
const gate = definePlugin({
  name: 'gate',
  setup({ hooks }) {
    hooks.authorize.tap('restrict', (_request, _interaction, ruling) => {
      for (const one of restrictions) ruling.restrict(one)
    })
  },
})
const changesOnly: Restriction = { types: { Observation: [{ rights: 'u' }] }, others: [ALL] }

let clinic: Clinic
test.before(async () => {
  clinic = await clinicWith({ fhir: { large_body_bytes: 65_536 } }, [gate])
})
test.after.each(() => {
  restrictions = []
})
test.after(() => clinic.stop())

const observation = (text: string, more: Json = {}): Json => ({
  resourceType: 'Observation',
  id: 'guessed',
  status: 'final',
  code: { text },
  ...more,
})
const tellsNothing = async (send: (text: string) => Promise<string>, more: Json = {}): Promise<void> => {
  restrictions = []
  const stored = await clinic.ask('PUT', '/Observation/guessed', observation('secret', more))
  const before = Number(/\d+/.exec(stored.headers.etag)?.[0])
  restrictions = [changesOnly]
  assert.is(await send('secret'), `W/"${before + 1}"`)
  assert.is(await send('wrong'), `W/"${before + 2}"`)
  assert.is(await send('wrong'), `W/"${before + 3}"`)
}
const etagOf = async (body: Json): Promise<string> => {
  const { status, headers, text } = await clinic.ask('PUT', '/Observation/guessed', body)
  assert.is(status, 200, text)
  return headers.etag
}

test('an update with the stored content makes a version where its caller may not read it', () =>
  tellsNothing((text) => etagOf(observation(text))))

test('so does one with a large body', async () => {
  const note = Array.from({ length: 3_000 }, (_, at) => ({ text: `a note of some length, number ${at}` }))
  await tellsNothing((text) => etagOf(observation(text, { note })), { note })
})

test('so does an entry of a transaction', () =>
  tellsNothing(async (text) => {
    const { status, json } = await clinic.bundle('transaction', [put(observation(text))])
    assert.is(status, 200, JSON.stringify(json))
    return json.entry[0].response.etag
  }))

test('a caller who may read it makes no version by the same content', async () => {
  const stored = await clinic.ask('PUT', '/Observation/guessed', observation('known'))
  restrictions = [{ types: { Observation: [{ rights: 'ru' }] }, others: [ALL] }]
  assert.is(await etagOf(observation('known')), stored.headers.etag)
})

test.run()

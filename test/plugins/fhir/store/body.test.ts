// database: memory, none is used
/** Bodies as they are stored: small ones with a dictionary, larger ones as gzip, and every one comes back as it was. */
import { createHash } from 'node:crypto'
import { gunzipSync } from 'node:zlib'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { packBody, unpackBody } from '../../../../plugins/fhir/store/body.ts'
import { DICTIONARY } from '../../../../plugins/fhir/store/dictionary.ts'
import { GZIP, SMALL } from '../../../../plugins/fhir/store/tables.ts'

const observation = (note: string): string =>
  JSON.stringify({
    resourceType: 'Observation',
    id: '01a200db-2cdd-7c62-9f25-71fd0ba0a6e5',
    meta: { versionId: '1', lastUpdated: '2026-11-22T01:24:53.597Z' },
    status: 'final',
    code: { coding: [{ system: 'http://loinc.org', code: '718-7', display: 'Hemoglobin' }] },
    subject: { reference: 'Patient/01a200db-1b2c-7d3e-8f40-5a6b7c8d9e0f' },
    valueQuantity: { value: 13.2, unit: 'g/dL', system: 'http://unitsofmeasure.org', code: 'g/dL' },
    note: [{ text: note }],
  })

test('what was packed comes back byte for byte, whatever its size and letters', () => {
  for (const note of [
    '',
    'é',
    '\u{1F600}',
    '"\\',
    ...[1, 90, 800, 950, 1_000, 1_100, 5_000, 200_000].map((n) => 'ab c'.repeat(n)),
  ]) {
    const text = observation(note)
    const { bytes, form } = packBody(text)
    assert.is(unpackBody(bytes, form).toString('utf8'), text)
  }
  for (const text of ['', '{}', '{"resourceType":"Basic"}']) {
    const { bytes, form } = packBody(text)
    assert.is(form, 0)
    assert.is(bytes.toString(), text)
  }
})

test('a small resource takes less than half of its size', () => {
  const text = observation('as usual')
  const { bytes, form } = packBody(text)
  assert.is(form, SMALL)
  assert.ok(bytes.length < text.length / 2, `${bytes.length} of ${text.length}`)
})

test('a larger one is gzip, which a client may take as it is', () => {
  const text = observation('as usual '.repeat(300))
  const { bytes, form } = packBody(text)
  assert.is(form, GZIP)
  assert.is(gunzipSync(bytes).toString('utf8'), text)
})

test('other flags of the row do not matter', () => {
  const { bytes, form } = packBody(observation(''))
  for (const others of [0, 4, 8, 12]) assert.is(unpackBody(bytes, form | others).toString('utf8'), observation(''))
})

test('the dictionary is the one that stored bodies were packed with', () => {
  assert.is(
    createHash('sha256').update(DICTIONARY).digest('hex'),
    'f5bf2acc3596397321457f4ac06edef3e58085caf7b399171deef0fc72579d1f',
  )
})

test.run()

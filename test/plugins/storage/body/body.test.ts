// database: memory, none is used
/** Bodies as they are stored: small ones with a dictionary, larger ones as gzip, and every one comes back as it was. */
import { createHash } from 'node:crypto'
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { deflateRawSync, gunzipSync } from 'node:zlib'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { compressBody, decompressBody, storedLength } from '../../../../plugins/storage/body/body.ts'
import { deflate } from '../../../../plugins/storage/body/deflate.ts'
import { DICTIONARY } from '../../../../plugins/storage/body/dictionary.ts'
import { lz } from '../../../../plugins/storage/body/lz.ts'
import { SMALL_BYTES } from '../../../../plugins/storage/body/small-codec.ts'
import { DEFLATED, GZIP, LZ } from '../../../../plugins/storage/version-flags.ts'
import { examplesFolder } from '../../../support/stub-definitions.ts'

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
    const { bytes, encoding } = compressBody(text)
    assert.is(decompressBody(bytes, encoding).toString('utf8'), text)
  }
  for (const text of ['', '{}', '{"resourceType":"Basic"}']) {
    const { bytes, encoding } = compressBody(text)
    assert.is(encoding, 0)
    assert.is(bytes.toString(), text)
  }
})

test('letters that look like a UUID, or are one in capitals or twice, come back as they were', () => {
  const uuid = '01a200db-2cdd-7c62-9f25-71fd0ba0a6e5'
  for (const note of [
    uuid,
    uuid + uuid,
    `${uuid} ${uuid.toUpperCase()}`,
    `${uuid.slice(0, 35)}g`,
    `-${uuid}-`,
    `a${uuid}`,
    `${uuid.slice(0, 8)}-${uuid.slice(0, 8)}-${uuid}`,
    `${uuid.slice(0, 20)}${uuid}`,
    `${uuid.slice(0, 34)}`,
    '--------------------------------',
    'x'.repeat(700),
  ])
    for (const text of [observation(note), `${note.padEnd(100, '-')}`, `${'"'.repeat(100)}${note}`]) {
      const { bytes, encoding } = compressBody(text)
      assert.is(decompressBody(bytes, encoding).toString('utf8'), text)
    }
})

test('any bytes come back, of text that repeats and text that does not', () => {
  let state = 1
  const next = (below: number): number => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0
    return (state >>> 8) % below
  }
  const known = DICTIONARY.toString('utf8')
  for (let round = 0; round < 2_000; round += 1) {
    let text = ''
    while (text.length < 100 + next(1_300)) {
      const kind = next(4)
      if (kind === 0) text += String.fromCharCode(32 + next(95))
      else if (kind === 1) text += String.fromCodePoint(160 + next(60_000 - 160 - 8_000))
      else {
        const from = kind === 2 ? known : text
        const at = next(Math.max(1, from.length))
        text += from.slice(at, at + next(200))
      }
    }
    const { bytes, encoding } = compressBody(text)
    if (decompressBody(bytes, encoding).toString('utf8') !== Buffer.from(text).toString('utf8')) assert.is(text, '')
  }
})

test('what an earlier build deflated can be read', () => {
  const text = observation('of long ago')
  const bytes = deflateRawSync(text, { level: 1, windowBits: 13, memLevel: 6, dictionary: DICTIONARY })
  assert.is(decompressBody(bytes, DEFLATED).toString('utf8'), text)
})

test('the packed form is the one that bodies were stored in', () => {
  const bytes = Buffer.from(
    'wQHOKoBYEJxFDX8BogDbLN18Yp8lcf0LoKblqGUNFDYtMTEtMjJUMDE6MjQ6NTMuNTk3WoA5EI41DoHIEJkID49eDwQ3MTgtN4mvDwlIZW1vZ2xvYmlugPsOnYwPfwGiANsbLH0+j0Baa3yNng+AORCBiRCQfRACMy4yhZEQgc8QqqAQgs8QAywibm+A1wqA5Q2ChA8IYXMgZXZlciwgg4MSgPsO',
    'base64',
  )
  assert.is(lz.decompress(bytes).toString('utf8'), observation('as ever, as ever'))
})

test('what is damaged in the database does not pass for what was stored', () => {
  const text = observation('as usual')
  const { bytes, encoding } = compressBody(text)
  const isTold = (damaged: Buffer): boolean => {
    try {
      return decompressBody(damaged, encoding).toString('utf8') === text
    } catch (error) {
      assert.match((error as Error).message, /damaged in the database/)
      return true
    }
  }
  for (let bit = 0; bit < bytes.length * 8; bit += 1) {
    const damaged = Buffer.from(bytes)
    damaged[bit >> 3] = (damaged[bit >> 3] as number) ^ (1 << (bit & 7))
    assert.ok(isTold(damaged), `bit ${bit}`)
  }
  for (let length = 0; length < bytes.length; length += 1) {
    assert.ok(isTold(bytes.subarray(0, length)), `cut to ${length}`)
    assert.ok(
      isTold(Buffer.concat([bytes.subarray(0, length), Buffer.alloc(bytes.length - length)])),
      `zero at ${length}`,
    )
  }
})

test('a small resource takes less than half of its size', () => {
  const text = observation('as usual')
  const { bytes, encoding } = compressBody(text)
  assert.is(encoding, LZ)
  assert.ok(bytes.length < text.length / 2, `${bytes.length} of ${text.length}`)
})

test('a larger one is gzip, which a client may take as it is', () => {
  const text = observation('as usual '.repeat(300))
  const { bytes, encoding } = compressBody(text)
  assert.is(encoding, GZIP)
  assert.is(gunzipSync(bytes).toString('utf8'), text)
})

test('other flags of the row do not matter', () => {
  const { bytes, encoding } = compressBody(observation(''))
  for (const others of [0, 4, 8, 12])
    assert.is(decompressBody(bytes, encoding | others).toString('utf8'), observation(''))
})

test('the dictionary is the one that stored bodies were packed with', () => {
  assert.is(
    createHash('sha256').update(DICTIONARY).digest('hex'),
    'f5bf2acc3596397321457f4ac06edef3e58085caf7b399171deef0fc72579d1f',
  )
})

test('every small example comes back from both codecs as it was', () => {
  const small = readdirSync(examplesFolder)
    .filter((name) => name.endsWith('.json') && statSync(join(examplesFolder, name)).size < 2 * SMALL_BYTES)
    .map((name) => JSON.stringify(JSON.parse(readFileSync(join(examplesFolder, name), 'utf8'))))
    .filter((text) => Buffer.byteLength(text) <= SMALL_BYTES && Buffer.byteLength(text) >= 200)
  assert.ok(small.length > 300, String(small.length))
  for (const text of small)
    for (const codec of [lz, deflate]) {
      const { bytes, encoding } = compressBody(text, codec)
      assert.is(encoding, codec.flag)
      assert.is(decompressBody(bytes, encoding).toString('utf8'), text)
      assert.is(storedLength(bytes, encoding) ?? Buffer.byteLength(text), Buffer.byteLength(text))
    }
})

test.run()

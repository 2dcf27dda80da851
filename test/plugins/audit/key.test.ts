/** The MACs of the chain are HMAC-SHA-256 over the fields, each with its kind and length. RFC 2104 */
import { createHmac } from 'node:crypto'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { createKey } from '../../../plugins/audit/chain/key.ts'

const textOf = (value: string): Buffer => {
  const bytes = Buffer.from(value, 'utf8')
  const head = Buffer.from([2, 0, 0, 0, 0])
  head.writeUInt32BE(bytes.length, 1)
  return Buffer.concat([head, bytes])
}
const numberOf = (value: number): Buffer => {
  const bytes = Buffer.from([1, 0, 0, 0, 0, 0, 0, 0, 0])
  bytes.writeDoubleBE(value, 1)
  return bytes
}

for (const secret of ['a key of the chain for tests', 'k'.repeat(200), ''])
  test(`a MAC is what HMAC-SHA-256 makes of the same bytes, with a key of ${secret.length} characters`, () => {
    const key = createKey(secret)
    for (const text of ['', 'Observation', 'Zürich ✓ 🜚', 'x'.repeat(47), `é${'x'.repeat(60)}`, 'y'.repeat(20_000)]) {
      key.begin('label')
      key.text(text)
      key.number(1_700_000_000_000)
      key.text(null)
      key.bytes(Buffer.from([0, 255, 7]))
      const bytes = Buffer.from([3, 0, 0, 0, 3, 0, 255, 7])
      const message = [Buffer.from('label\0'), textOf(text), numberOf(1_700_000_000_000), Buffer.from([0]), bytes]
      const hmac = createHmac('sha256', secret)
      for (const part of message) hmac.update(part)
      assert.is(key.end().toString('hex'), hmac.digest('hex'), text.slice(0, 20))
    }
  })

test.run()

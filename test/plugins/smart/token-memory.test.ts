/** What servers remember of tokens: many of them in few bytes, within a bound, and those in use last. */
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { hashTextOf } from '../../../plugins/smart/secret.ts'
import { createTokenMemory } from '../../../plugins/smart/tokens/token-memory.ts'

const MB = 2 ** 20
const shared = { bytes: 0 }
const hashes = (count: number, of = ''): string[] => Array.from({ length: count }, (_, n) => hashTextOf(`${of}${n}`))

test('200,000 tokens with shared values are kept in less than 150 bytes each', () => {
  const memory = createTokenMemory(96 * MB)
  const all = hashes(200_000)
  for (const [n, hash] of all.entries()) memory.put(hash, { value: shared, expiresAt: n, version: n % 7 })
  for (const [n, hash] of all.entries()) {
    if (!memory.find(hash)) assert.unreachable(`token ${n} is lost`)
    if (memory.expiresAt() !== n || memory.version() !== n % 7 || memory.value() !== shared) assert.unreachable(`${n}`)
  }
  assert.is(memory.find(hashTextOf('another')), false)
  assert.ok(memory.bytes < 200_000 * 150, `${memory.bytes} bytes`)
})

test('200,000 tokens of people, each with a value of its own, are kept', () => {
  const memory = createTokenMemory(96 * MB)
  const all = hashes(200_000)
  const value = { bytes: 300 }
  for (const hash of all) memory.put(hash, { value, expiresAt: 1, version: 1 })
  assert.is(all.filter((hash) => !memory.find(hash)).length, 0)
})

test('the bytes are bounded, whatever the values have, and what is used stays', () => {
  const memory = createTokenMemory(2 * MB)
  const mine = hashTextOf('mine')
  memory.put(mine, { value: { bytes: 100 }, expiresAt: 5, version: 3 })
  for (const [n, hash] of hashes(50_000, 'other').entries()) {
    memory.put(hash, { value: { bytes: n % 2 === 0 ? 1_000 : 0 }, expiresAt: 1, version: 1 })
    assert.ok(memory.bytes <= 2 * MB, `${memory.bytes} bytes`)
    if (n % 100 === 0) assert.ok(memory.find(mine), `${n}`)
  }
  assert.ok(memory.find(mine))
  assert.is(memory.expiresAt(), 5)
  assert.is(memory.version(), 3)
  assert.is(memory.find(hashTextOf('other0')), false, 'what was used longest ago has made room')
})

test('a token that is replaced or removed is known once, or not at all', () => {
  const memory = createTokenMemory<{ readonly bytes: number; readonly name: string }>(MB)
  const hash = hashTextOf('one')
  const before = memory.bytes
  memory.put(hash, { value: { bytes: 10, name: 'a' }, expiresAt: 1, version: 1 })
  memory.put(hash, { value: { bytes: 20, name: 'b' }, expiresAt: 2, version: 2 })
  assert.ok(memory.find(hash))
  assert.is(memory.value().name, 'b')
  assert.is(memory.bytes, before + 20)
  memory.remove(hash)
  assert.is(memory.find(hash), false)
  assert.is(memory.bytes, before)
  memory.put(hash, { value: { bytes: 30, name: 'c' }, expiresAt: 3, version: 3 })
  assert.ok(memory.find(hash))
  assert.is(memory.value().name, 'c')
})

test.run()

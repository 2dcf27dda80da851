/** A filter never says no of what it was made of, and yes of little else. */
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { createBloomFilter, filterKeyOf, mayContain } from '../../../plugins/audit/blocks/bloom-filter.ts'
import { encodeId } from '../../../plugins/audit/id.ts'

const uuid = (n: number): Buffer =>
  encodeId(`${n.toString(16).padStart(8, '0')}-0000-7000-8000-${(n * 7_919).toString(16).padStart(12, '0')}`)

for (const count of [1, 3, 100, 2_000])
  test(`a filter over ${count} ids finds each of them, and about one in a hundred of the others`, () => {
    const keys = Array.from({ length: count }, (_, n) => filterKeyOf('id', uuid(n)))
    const filter = createBloomFilter(new Set(keys))
    assert.ok(filter.length <= Math.max(8, (count * 10) / 8 + 1))
    for (const key of keys) assert.ok(mayContain(filter, key))
    let others = 0
    for (let n = 10_000; n < 30_000; n += 1) if (mayContain(filter, filterKeyOf('id', uuid(n)))) others += 1
    assert.ok(others < 20_000 * 0.02, `${others} of 20,000`)
  })

test('the same value in another column is another key', () => {
  assert.is.not(filterKeyOf('id', uuid(1)), filterKeyOf('patient', uuid(1)))
  assert.is.not(filterKeyOf('client', 'a'), filterKeyOf('person', 'a'))
})

test('the same keys make the same filter, in whatever order they came', () => {
  const keys = Array.from({ length: 500 }, (_, n) => filterKeyOf('client', `client ${n}`))
  assert.equal(createBloomFilter(new Set(keys)), createBloomFilter(new Set(keys.toReversed())))
})

test.run()

/** A filter never says no of what it was made of, and yes of little else. */
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { keyOf, makeFilter, mayHold } from '../../../plugins/audit/blocks/filter.ts'
import { packId } from '../../../plugins/audit/id.ts'

const uuid = (n: number): Buffer =>
  packId(`${n.toString(16).padStart(8, '0')}-0000-7000-8000-${(n * 7_919).toString(16).padStart(12, '0')}`)

for (const count of [1, 3, 100, 2_000])
  test(`a filter over ${count} ids finds each of them, and about one in a hundred of the others`, () => {
    const keys = Array.from({ length: count }, (_, n) => keyOf('id', uuid(n)))
    const filter = makeFilter(new Set(keys))
    assert.ok(filter.length <= Math.max(8, (count * 10) / 8 + 1))
    for (const key of keys) assert.ok(mayHold(filter, key))
    let others = 0
    for (let n = 10_000; n < 30_000; n += 1) if (mayHold(filter, keyOf('id', uuid(n)))) others += 1
    assert.ok(others < 20_000 * 0.02, `${others} of 20,000`)
  })

test('the same value in another column is another key', () => {
  assert.is.not(keyOf('id', uuid(1)), keyOf('patient', uuid(1)))
  assert.is.not(keyOf('client', 'a'), keyOf('person', 'a'))
})

test('the same keys make the same filter, in whatever order they came', () => {
  const keys = Array.from({ length: 500 }, (_, n) => keyOf('client', `client ${n}`))
  assert.equal(makeFilter(new Set(keys)), makeFilter(new Set(keys.toReversed())))
})

test.run()

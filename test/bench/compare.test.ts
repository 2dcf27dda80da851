/** Two sides in turns, and the median of what each round says. */
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { compare, median } from './compare.ts'
import { settingsFor } from './plugins.ts'

test('the sides take turns and the ratio is that of each round, not of the medians', async () => {
  const order: string[] = []
  const rates = { ours: [100, 10, 90], others: [50, 20, 60] }
  const side = (name: 'ours' | 'others') => async () => {
    order.push(name)
    return { perSecond: rates[name].shift() as number, cpu: 2, busy: 1 }
  }
  const { speed, ours, others, cpu } = await compare(3, side('ours'), side('others'))
  assert.equal(order, ['ours', 'others', 'ours', 'others', 'ours', 'others'])
  assert.equal(speed, { median: 1.5, least: 0.5, most: 2 })
  assert.is(ours.perSecond, 90)
  assert.is(others.perSecond, 50)
  assert.is(cpu.median, 1)
})

test('the median of an even number lies between the two in the middle', () => {
  assert.is(median([4, 1, 3, 2]), 2.5)
  assert.is(median([3]), 3)
})

test('settings that no plugin declares are left out', () => {
  const plugin = { name: 'one', config: { audit: { properties: { reads: {} } } }, setup: () => undefined }
  assert.equal(settingsFor([plugin as never], { audit: { reads: false, trail: 1 }, quota: { enabled: true } }), {
    audit: { reads: false },
  })
})

test.run()

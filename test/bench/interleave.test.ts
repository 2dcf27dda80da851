/** Several sides in short turns: their order, and how sure the median of their ratios is. */
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { interleave, orderOf } from './interleave.ts'
import { medianInterval } from './median-interval.ts'

const upTo = (count: number): readonly number[] => Array.from({ length: count }, (_, at) => at + 1)

test('three sides take turns in all six orders, and two in both', () => {
  const orders = upTo(6).map((round) => orderOf(['a', 'b', 'c'], round - 1).join(''))
  assert.equal(orders, ['abc', 'cba', 'bca', 'acb', 'cab', 'bac'])
  assert.equal(
    upTo(4).map((round) => orderOf(['a', 'b'], round - 1).join('')),
    ['ab', 'ba', 'ba', 'ab'],
  )
})

test('a ratio is the median of those of the rounds, whatever order the sides had in them', async () => {
  const order: string[] = []
  const side = (name: string, rates: number[]) => async () => {
    order.push(name)
    return { rate: rates.shift() as number }
  }
  const { ratio, turns } = await interleave(
    3,
    { ours: side('ours', [100, 10, 90]), others: side('others', [50, 20, 60]) },
    async (round) => void order.push(`round ${round}`),
  )
  assert.equal(order, ['round 0', 'ours', 'others', 'round 1', 'others', 'ours', 'round 2', 'others', 'ours'])
  assert.equal(ratio('ours', 'others', 'rate'), { median: 1.5, low: 0.5, high: 2 })
  assert.equal(
    turns.others.map(({ rate }) => rate),
    [50, 20, 60],
  )
})

test('the true median lies in the interval with a probability of 95 %: ranks as in tables of the binomial distribution', () => {
  assert.equal(medianInterval(upTo(6)), { median: 3.5, low: 1, high: 6 })
  assert.equal(medianInterval(upTo(10).toReversed()), { median: 5.5, low: 2, high: 9 })
  assert.equal(medianInterval(upTo(40)), { median: 20.5, low: 14, high: 27 })
  assert.equal(medianInterval([7]), { median: 7, low: 7, high: 7 })
})

test.run()

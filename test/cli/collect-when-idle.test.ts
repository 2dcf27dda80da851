/** The memory of a start is returned once, when the server is idle. */
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { collectWhenIdle, processParts } from '../../cli/collect-when-idle.ts'

const watch = (utilizations: readonly number[]) => {
  let collected = 0
  let check: (() => void) | undefined
  const left = [0, ...utilizations] // the first call begins the measurement
  const giveUp = collectWhenIdle({
    utilization: () => left.shift() ?? 0,
    repeat: (_ms, work) => {
      check = work
      return () => {
        check = undefined
      }
    },
    collect: () => {
      collected += 1
    },
  })
  return { pass: () => check?.(), giveUp, collected: () => collected }
}

test('it is collected after the first second in which the server was idle, and once', () => {
  const { pass, collected } = watch([0.9, 0.2, 0.01, 0])
  const seen = [1, 2, 3, 4].map(() => {
    pass()
    return collected()
  })
  assert.equal(seen, [0, 0, 1, 1])
})

test('nothing is collected in a server that stops before it was idle', () => {
  const { pass, giveUp, collected } = watch([0.9, 0])
  pass()
  giveUp()
  pass()
  assert.is(collected(), 0)
})

test('what the process offers collects: garbage of this process is gone afterwards', () => {
  const { collect } = processParts()
  let garbage: unknown[] | undefined = Array.from({ length: 100_000 }, (_, at) => ({ at }))
  assert.is(garbage.length, 100_000)
  garbage = undefined
  const before = process.memoryUsage().heapUsed
  collect()
  assert.ok(process.memoryUsage().heapUsed < before, `${process.memoryUsage().heapUsed} < ${before}`)
})

test.run()

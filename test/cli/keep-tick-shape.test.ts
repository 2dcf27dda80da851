/** The shape (map) of ticks outlives collections that find no tick: https://v8.dev/docs/hidden-classes */
import { executionAsyncResource } from 'node:async_hooks'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { keepTickShape, keptTicks } from '../../cli/keep-tick-shape.ts'

setFlagsFromString('--expose-gc')
setFlagsFromString('--allow-natives-syntax')
const collect = runInNewContext('gc') as (options: object) => void
const haveSameMap = new Function('a', 'b', 'return %HaveSameMap(a, b)') as (a: object, b: object) => boolean

const runTick = (...args: readonly unknown[]): Promise<object> =>
  new Promise((resolve) => {
    process.nextTick(() => resolve(executionAsyncResource()), ...args)
  })

test('ticks that are made after a collection have the shape of the one that is kept', async () => {
  keepTickShape()
  await runTick()
  assert.is(keptTicks.length, 1)
  const [kept] = keptTicks as [object]
  assert.not.ok(haveSameMap(kept, {}))
  for (let times = 0; times < 3; times += 1) {
    await new Promise(setImmediate) // no tick waits meanwhile
    collect({ type: 'major', flavor: 'last-resort' })
    assert.ok(haveSameMap(kept, await runTick()))
    assert.ok(haveSameMap(kept, await runTick('with', 'arguments')))
  }
})

test.run()

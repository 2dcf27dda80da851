/**
 * CPU time of this process and its threads in milliseconds: for limits that must hold on a busy machine too, where the
 * server runs in the process of the test.
 */
import * as assert from 'uvu/assert'

export const cpuTime = (): number => {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1000
}

const USUAL_MS = 25 // what the work below takes on the machine that the limits of the tests were set on
const TRIES = 3

const fixedWork = (): number => {
  const text = JSON.stringify(Array.from({ length: 40_000 }, (_, n) => ({ n, text: `text ${n}`, list: [n, `${n}`] })))
  const { user, system } = process.threadCpuUsage()
  JSON.stringify(JSON.parse(text))
  const used = process.threadCpuUsage({ user, system })
  return (used.user + used.system) / 1000
}

/**
 * Fails when `used` is above `limit`, both in milliseconds. Where cores are slow, or shared with other machines, a piece of
 * fixed work takes longer at this moment, and the limit is as many times as high.
 */
export const assertQuick = (used: number, limit: number, what = 'it'): void => {
  if (used < limit) return
  const slowness = Math.max(1, Math.min(...Array.from({ length: TRIES }, fixedWork)) / USUAL_MS)
  assert.ok(
    used < limit * slowness,
    `${what} took ${used} of ${limit} ms, on a machine ${slowness.toFixed(1)} times as slow`,
  )
}

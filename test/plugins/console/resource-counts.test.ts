/** Counts of resources: at most one count a minute, which ends after five seconds. */
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import type { Logger } from '../../../kernel/index.ts'
import { createResourceCounts } from '../../../plugins/console/resource-counts.ts'
import { createManualClock } from '../../support/manual-clock.ts'

const PATIENTS = [{ type: 'Patient', count: 1 }]
const START = Date.UTC(2026, 0, 15, 12)

const withCounts = () => {
  const clock = createManualClock(START)
  const warnings: unknown[] = []
  const pending: { resolve(): void; reject(error: Error): void; readonly signal: AbortSignal }[] = []
  const log = { warn: (line: unknown) => void warnings.push(line) } as unknown as Logger
  const counts = createResourceCounts({
    clock,
    log,
    countTypes: (signal) =>
      new Promise((resolve, reject) => {
        pending.push({ signal, resolve: () => resolve(PATIENTS), reject })
        signal.addEventListener('abort', () => reject(signal.reason))
      }),
  })
  return { clock, warnings, pending, counts }
}

test('those who ask at once wait for one count, and others are given it for a minute', async () => {
  const { clock, pending, counts } = withCounts()
  const both = [counts(), counts()]
  assert.is(pending.length, 1)
  pending[0]?.resolve()
  assert.equal(await Promise.all(both), Array(2).fill({ at: START, types: PATIENTS }))
  await clock.advance(59_999)
  await counts()
  assert.is(pending.length, 1)
  await clock.advance(1)
  const next = counts()
  assert.is(pending.length, 2)
  pending[1]?.resolve()
  assert.is((await next)?.at, START + 60_000)
})

test('a count that takes longer than five seconds is ended, and not begun again for a minute', async () => {
  const { clock, pending, counts, warnings } = withCounts()
  const asked = counts()
  await clock.advance(5_000)
  assert.is(await asked, undefined)
  assert.is(pending[0]?.signal.aborted, true)
  assert.is(await counts(), undefined)
  assert.is(pending.length, 1)
  assert.equal(warnings, [])
})

test('a count that fails is logged, and the one before is shown with its time', async () => {
  const { clock, pending, counts, warnings } = withCounts()
  const first = counts()
  pending[0]?.resolve()
  await first
  await clock.advance(60_000)
  const second = counts()
  pending[1]?.reject(new Error('the database is away'))
  assert.is((await second)?.at, START)
  assert.is(warnings.length, 1)
})

test.run()

/** Clocks that jump, and a process that gets no processor: the lease is not lost to the one, and not kept by the other. F14, F15, F18. */
// database: postgres, the one kind that several processes share
// waits: for leases that run out
import pg from 'pg'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { type Clock, systemClock } from '../../../kernel/index.ts'
import { chosenKind } from '../../support/database-kinds.ts'
import { reasonOf, urlOf, whenSays } from '../../support/replica-servers.ts'
import { serveHere } from '../../support/serve-here.ts'
import { basic, serverWith } from '../../support/server-with.ts'
import { spawnServer } from '../../support/spawn-server.ts'
import { until } from '../../support/until.ts'
import { WAITING, whenReady } from '../../support/writer-pair.ts'

const HOUR_MS = 3_600_000
const AGAIN_MS = 3_000 // a beat confirms the lease each second
const STANDSTILL_MS = 10_000

/** Functions that end what a test has started, called after it in reverse order. */
const ends: (() => unknown)[] = []
test.after.each(async () => {
  for (const end of ends.splice(0).reverse()) await end()
})

/** The time of the system, with a time of day that a test sets. */
const jumpingClock = (): Clock & { offset: number } => ({
  ...systemClock,
  offset: 0,
  now() {
    return systemClock.now() + this.offset
  },
})

test('a time of day that jumps by an hour, there and back, moves no lease, and no version is older than the one before', async () => {
  const fresh = await chosenKind.fresh(basic)
  ends.push(() => fresh.remove())
  const clock = jumpingClock()
  const primary = await serverWith({ clock, settings: { ...fresh.settings, conformance: { update_as_create: true } } })
  ends.push(() => primary.stop())
  const standby = await serveHere(fresh.settings, { isEarly: true })
  ends.push(() => standby.stop())
  await whenSays(standby, WAITING)
  const onlooker = new pg.Client(urlOf(fresh))
  await onlooker.connect()
  ends.push(() => onlooker.end())
  const epochOf = async (): Promise<string> => (await onlooker.query('SELECT epoch FROM cluster_mark')).rows[0].epoch
  const epoch = await epochOf()
  const times: string[] = []
  const write = async (n: number): Promise<number> => {
    const payload = JSON.stringify({ resourceType: 'Patient', id: 'a', name: [{ family: `n${n}` }] })
    const headers = { 'content-type': 'application/fhir+json' }
    const answer = await primary.inject({ method: 'PUT', url: '/Patient/a', headers, payload })
    if (answer.statusCode < 300) times.push((answer.json() as { meta: { lastUpdated: string } }).meta.lastUpdated)
    return answer.statusCode
  }
  await write(0)
  let turn = 0
  for (const offset of [HOUR_MS, 0, -HOUR_MS, HOUR_MS, -HOUR_MS, 0]) {
    clock.offset = offset
    turn += 1
    await until(async () => (await write(turn)) === 200, AGAIN_MS, 'a change to be stored')
    assert.is(await reasonOf(standby), WAITING)
    assert.is(await epochOf(), epoch)
  }
  assert.equal(times, times.toSorted())
})

test('a server that waits and whose clock is an hour ahead or behind takes nothing over', async () => {
  for (const offset of [HOUR_MS, -HOUR_MS]) {
    const fresh = await chosenKind.fresh(basic)
    ends.push(() => fresh.remove())
    const primary = await serveHere(fresh.settings)
    ends.push(() => primary.stop())
    const clock = jumpingClock()
    clock.offset = offset
    const onlooker = new pg.Client(urlOf(fresh))
    await onlooker.connect()
    ends.push(() => onlooker.end())
    const leaseOf = async () => (await onlooker.query('SELECT epoch, beat::int FROM cluster_lease')).rows[0]
    const before = await leaseOf()
    let isReady = false
    const standby = serverWith({ clock, settings: fresh.settings }).then((server) => {
      isReady = true
      return server
    })
    await until(async () => (await leaseOf()).beat >= before.beat + 10, 20_000, 'ten beats')
    clock.offset = 0
    await until(async () => (await leaseOf()).beat >= before.beat + 12, 5_000, 'two beats')
    assert.is((await leaseOf()).epoch, before.epoch)
    assert.not(isReady)
    await primary.stop()
    await (await standby).stop()
  }
})

test('a holder whose main thread stands still for ten seconds stores and answers nothing afterwards, and ends', async () => {
  const fresh = await chosenKind.fresh(basic)
  ends.push(() => fresh.remove())
  const holder = await serverWith({ settings: { ...fresh.settings, conformance: { update_as_create: true } } })
  ends.push(() => holder.stop())
  const standby = await spawnServer(fresh.settings, { isEarly: true })
  ends.push(() => standby.kill())
  await whenSays(standby, WAITING)
  const headers = { 'content-type': 'application/fhir+json' }
  const put = async (family: string): Promise<number> => {
    const payload = JSON.stringify({ resourceType: 'Patient', id: 'a', name: [{ family }] })
    return (await holder.inject({ method: 'PUT', url: '/Patient/a', headers, payload })).statusCode
  }
  assert.is(await put('before'), 201)
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, STANDSTILL_MS)
  const [late, read] = await Promise.all([put('late'), holder.inject('/Patient/a')])
  assert.equal([late, read.statusCode], [503, 503])
  await whenReady(standby)
  const { exitCode } = await holder.failed
  assert.is(exitCode, 75)
  const found = (await (await fetch(`${standby.base}/Patient/a`)).json()) as { name: { family: string }[] }
  assert.is(found.name[0]?.family, 'before')
})

test.run()

/** A server that stops while it still waits for the writer lease: what it has refused until then is in the trail, or counted. */
// database: sqlite, because it starts servers on SQLite and on PostgreSQL itself
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { createKernel, type Kernel } from '../../../kernel/index.ts'
import { type DatabaseKind, postgresKind, sqliteKind } from '../../support/database-kinds.ts'
import { serverWith, type TestServer } from '../../support/server-with.ts'
import { until } from '../../support/until.ts'
import { type AuditEvent, auditedPlugins, eventsOf, KEY, verifiedHere } from './audited.ts'

const WAITS_MS = 10_000
const IN_DETAIL = 5 // refusals of callers that nobody knows, each second
const EACH = 0 // instead of that number: each of them
const MOST_WAITING = 10_000 // events, as the README of the plugin says

interface Waiting {
  readonly kernel: Kernel
  readonly lines: readonly Record<string, unknown>[]
  /** Resolves when the start has failed, as it does when the server stops. */
  readonly ended: Promise<unknown>
}

/** A server that writes, and one that waits until it is gone. */
const withPair = async (
  kind: DatabaseKind,
  work: (writer: TestServer, waiting: Waiting) => Promise<void>,
  perSecond = IN_DETAIL,
): Promise<void> => {
  const fresh = await kind.fresh(auditedPlugins)
  const settings = { ...fresh.settings, audit: { key: KEY, unattributed_per_second: perSecond } }
  const writer = await serverWith({ plugins: auditedPlugins, settings })
  const lines: Record<string, unknown>[] = []
  const stream = { write: (line: string) => void lines.push(JSON.parse(line)) }
  const kernel = await createKernel({ plugins: auditedPlugins, settings, log: { stream } })
  const ended = kernel.start().catch((error) => error)
  try {
    await until(() => lines.some(({ msg }) => msg === 'waiting for the writer lease'), WAITS_MS, 'the second to wait')
    await work(writer, { kernel, lines, ended })
  } finally {
    await kernel.stop()
    await ended
    await writer.stop()
    await fresh.remove()
  }
}
const refuse = async ({ kernel }: Waiting, count: number): Promise<void> => {
  for (let n = 0; n < count; n += 1) {
    const answer = await kernel.inject(`/Patient/early-${n}`)
    assert.is(answer.statusCode, 503)
    if (n % 100 === 0) await new Promise(setImmediate)
  }
}
const isRefusal = ({ outcome, subtype }: AuditEvent): boolean =>
  outcome !== '0' && subtype.every(({ code }) => code !== 'sampled')
const countOf = ({ entity = [] }: AuditEvent): number =>
  Number(entity.flatMap(({ detail = [] }) => detail)[0]?.valueString ?? 0)
const lostOf = ({ lines }: Waiting): unknown => lines.find(({ lost }) => lost !== undefined)?.lost

test('on PostgreSQL the server that writes has its refusals, in detail or counted', async () => {
  await withPair(postgresKind, async (writer, waiting) => {
    await refuse(waiting, 40)
    await waiting.kernel.stop()
    assert.equal(waiting.kernel.failedToStop, [])
    assert.is(lostOf(waiting), undefined)
    const events = await eventsOf(writer)
    const detailed = events.filter(isRefusal)
    assert.ok(detailed.length >= IN_DETAIL, `${detailed.length} in detail`)
    const counted = events.reduce((sum, event) => sum + countOf(event), 0)
    assert.is(detailed.length + counted, 40)
    assert.ok((await verifiedHere(writer)).ok)
  })
})

test('beyond 10,000 that wait they are counted, and none is logged by itself', async () => {
  const many = MOST_WAITING + 300
  const check = async (writer: TestServer, waiting: Waiting): Promise<void> => {
    await refuse(waiting, many)
    await waiting.kernel.stop()
    assert.equal(waiting.kernel.failedToStop, [])
    const events = await eventsOf(writer)
    assert.is(events.filter(isRefusal).length, MOST_WAITING)
    assert.is(
      events.reduce((sum, event) => sum + countOf(event), 0),
      many - MOST_WAITING,
    )
    assert.equal(
      waiting.lines.filter(({ level }) => level === 'error'),
      [],
    )
  }
  await withPair(postgresKind, check, EACH)
})

test('on SQLite the log has the number of those that are lost, and the stop fails', async () => {
  await withPair(sqliteKind, async (writer, waiting) => {
    await refuse(waiting, 40)
    await waiting.kernel.stop()
    const told = waiting.lines.find(({ lost }) => lost !== undefined)
    assert.is(told?.recorded, 40)
    assert.match(String(told?.msg), `${told?.lost} events, which record 40 requests, could not be written`)
    assert.equal(waiting.kernel.failedToStop, ['audit'])
    assert.equal((await eventsOf(writer)).filter(isRefusal), [])
  })
})

test('a server that has refused nothing stops without a word of the trail', async () => {
  for (const kind of [sqliteKind, postgresKind])
    await withPair(kind, async (_, waiting) => {
      await waiting.kernel.stop()
      assert.equal(waiting.kernel.failedToStop, [])
      assert.equal(
        waiting.lines.filter(({ plugin, level }) => plugin === 'audit' && level !== 'info'),
        [],
      )
    })
})

test.run()

import * as assert from 'uvu/assert'
import { verifyTrail } from '../../../plugins/audit/verify/walk.ts'
import { Database, type SqlParam, sql } from '../../../plugins/database/service.ts'
import { chosenKind, sqliteKind } from '../../support/database-kinds.ts'
import { serverWith, type TestServer, type TestServerOptions } from '../../support/server-with.ts'
import { audited, auditedPlugins, create, KEY, plain } from './audited.ts'

export const EVENTS = 12 // start and stop among them

let statements = 0
export const change = (server: TestServer, text: string, params: readonly SqlParam[] = []): Promise<unknown> => {
  statements += 1
  const statement = sql(`test.change-${statements}`, text)
  return server.get(Database).transact((transaction) => transaction.run(statement, params))
}
export const rows = async <R>(server: TestServer, text: string): Promise<R[]> => {
  statements += 1
  return server.get(Database).all<R>(sql(`test.rows-${statements}`, text), [])
}

/** A server with some events, all written. */
export const filled = async (options: TestServerOptions = {}): Promise<TestServer> => {
  const server = await audited(options)
  for (let n = 0; n < EVENTS; n += 1) await create(server, { resourceType: 'Patient', active: true })
  return server
}

type Start = (audit?: object | undefined) => Promise<TestServer>

const one = async (): Promise<{ readonly start: Start; remove(): Promise<void> }> => {
  const kind = chosenKind.name === 'memory' ? sqliteKind : chosenKind
  const { settings, remove } = await kind.fresh(plain)
  const start: Start = (audit) =>
    serverWith({
      plugins: audit === undefined ? plain : auditedPlugins,
      settings: { ...settings, ...(audit && { audit }) },
    })
  return { start, remove }
}

export const onOne = async (work: (start: Start) => Promise<void>): Promise<void> => {
  const { start, remove } = await one()
  await work(start)
  await remove()
}

/** A trail that was left, opened by a server that does not follow it. The caller closes it. */
export const openLeft = async (): Promise<{ readonly server: TestServer; close(): Promise<void> }> => {
  const { start, remove } = await one()
  const first = await start({ key: KEY })
  for (let n = 0; n < EVENTS - 2; n += 1) await create(first, { resourceType: 'Patient', active: true })
  await first.stop()
  const server = await start()
  const close = async (): Promise<void> => {
    await server.stop()
    await remove()
  }
  return { server, close }
}

export const GIVEN = { key: KEY, previousKeys: [] }

type Broken = (...texts: readonly string[]) => Promise<{ ok: boolean; seq: number; kind: string }>

/** The same trail, changed again and again, and put back each time. */
export const onBroken = async (server: TestServer, work: (brokenBy: Broken) => Promise<void>): Promise<void> => {
  const TABLES = ['audit_event', 'audit_head']
  for (const table of TABLES) await change(server, `CREATE TABLE kept_${table} AS SELECT * FROM ${table}`)
  await work(async (...texts) => {
    for (const text of texts) await change(server, text)
    const { ok, broken } = await verifyTrail(server.get(Database), GIVEN)
    for (const table of TABLES) {
      await change(server, `DELETE FROM ${table}`)
      await change(server, `INSERT INTO ${table} SELECT * FROM kept_${table}`)
    }
    return { ok, ...broken } as { ok: boolean; seq: number; kind: string }
  })
  for (const table of TABLES) await change(server, `DROP TABLE kept_${table}`)
  assert.is((await verifyTrail(server.get(Database), GIVEN)).ok, true, 'put back')
}

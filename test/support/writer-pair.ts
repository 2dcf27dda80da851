/** A server that writes and one that waits, on one PostgreSQL, for tests of faults. */
import pg from 'pg'
import { chosenKind, type FreshDatabase } from './database-kinds.ts'
import { type Json, reasonOf, send, urlOf, whenSays } from './replica-servers.ts'
import { type ServerHere, serveHere } from './serve-here.ts'
import { basic } from './server-with.ts'
import type { SpawnedServer } from './spawn-server.ts'
import { startTcpProxy, type TcpProxy } from './tcp-proxy.ts'
import { until } from './until.ts'

export const WAITING = 'waiting for the writer lease'
export const TAKEOVER_MS = 15_000 // required when a holder is suspended or cut off
const END_MS = 20_000
const RESTART = 75

export interface WriterPair {
  readonly fresh: FreshDatabase
  readonly first: ServerHere
  readonly second: ServerHere
  /** Between the first one and the database. */
  readonly proxy: TcpProxy
  /** Queries the database directly. */
  readonly onlooker: pg.Client
  /** Epoch and beat of the lease. */
  lease(): Promise<{ readonly epoch: number; readonly beat: number }>
  stop(): Promise<void>
}

export const put = async (server: Pick<SpawnedServer, 'base'>, id: string, family = 'x'): Promise<number> => {
  const body: Json = { resourceType: 'Patient', id, name: [{ family }] }
  return (await send(server, 'PUT', `/Patient/${id}`, body)).status
}

/** Settles in any case: the status, or 0 where no answer came. */
export const outcomeOf = (sent: Promise<number>): Promise<number> => sent.catch(() => 0)

export const whenReady = (server: Pick<SpawnedServer, 'base'>, ms = TAKEOVER_MS): Promise<void> =>
  until(async () => (await reasonOf(server).catch(() => 'away')) === 'ok', ms, 'a server to be ready')

/** Resolves when a server of this process has failed, so that a supervisor would start it again. */
export const whenFailed = async ({ failed }: ServerHere): Promise<void> => {
  let code: number | undefined
  void failed.then((exitCode) => {
    code = exitCode
  })
  await until(() => code !== undefined, END_MS, 'the former holder to fail')
  if (code !== RESTART) throw new Error(`it failed with ${code}`)
}

export const startWriterPair = async (): Promise<WriterPair> => {
  const fresh = await chosenKind.fresh(basic)
  const url = new URL(urlOf(fresh))
  const proxy = await startTcpProxy(Number(url.port))
  url.port = String(proxy.port)
  const first = await serveHere({ database: { kind: 'postgres', postgres_url: url.href } })
  const second = await serveHere(fresh.settings, { isEarly: true })
  await whenSays(second, WAITING)
  const onlooker = new pg.Client(urlOf(fresh))
  await onlooker.connect()
  return {
    ...{ fresh, first, second, proxy, onlooker },
    async lease() {
      const { rows } = await onlooker.query('SELECT epoch::int, beat::int FROM cluster_lease WHERE one = 1')
      return rows[0] as { epoch: number; beat: number }
    },
    async stop() {
      for (const server of [second, first]) await server.stop()
      proxy.stop()
      await onlooker.end()
      await fresh.remove()
    },
  }
}

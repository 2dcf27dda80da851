/**
 * How long after a COMMIT its frame is at a client: 100 writes each second by the clock, whatever was answered, each of which one
 * live query of each server matches. On PostgreSQL with a primary and a replica, and on a SQLite file. Servers are processes of
 * their own; writer and clients are this one, so all times are by the clock of one machine. That of a COMMIT is PostgreSQL's own,
 * which it takes before it writes the log, or on SQLite that of the hook `onCommit`.
 */
import { once } from 'node:events'
import { loadavg } from 'node:os'
import { WebSocket } from 'ws'
import { type FreshDatabase, temporaryFolder } from '../support/database-kinds.ts'
import { startPostgres } from '../support/postgres.ts'
import { send, startPrimary, startReplica, whenFollowed } from '../support/replica-servers.ts'
import { type SpawnedServer, spawnServer } from '../support/spawn-server.ts'
import { until } from '../support/until.ts'

const EACH_MS = 10
const WARM_UP = 300 // writes that do not count
const PATIENTS = 100 // each has a query at each server
const WAIT_MS = 20_000
const NAME = 'latency'
const PLUGINS = ['search-definitions', 'sync', 'commit-times']
const MOST = { primary: 20, replica: 50 } as const // milliseconds, p99

type Times = ReadonlyMap<string, number>

const now = (): number => performance.timeOrigin + performance.now()
const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))
const patient = (at: number): string => `Patient/p${at % PATIENTS}`

interface Follower {
  /** When the first delta about each resource arrived. */
  readonly arrived: Times
  /** Messages that end a query, and an end of the connection. */
  readonly ends: readonly string[]
  close(): void
}

const follow = async ({ base }: SpawnedServer): Promise<Follower> => {
  const socket = new WebSocket(`${base.replace('http', 'ws')}/sync`)
  const arrived = new Map<string, number>()
  const ready = new Set<string>()
  const ends: string[] = []
  socket.on('close', (code, reason) => ends.push(`closed with ${code} ${reason}`))
  socket.on('message', (data) => {
    const at = now()
    const { op, id, reference } = JSON.parse(data.toString())
    if (op === 'ready') ready.add(id)
    if (op === 'reset' || op === 'error') ends.push(data.toString().slice(0, 200))
    if (op === 'delta' && !arrived.has(reference)) arrived.set(reference, at)
  })
  await once(socket, 'open')
  for (let at = 0; at < PATIENTS; at += 1)
    socket.send(JSON.stringify({ op: 'subscribe', id: `q${at}`, query: `Observation?subject=${patient(at)}` }))
  await until(() => ready.size === PATIENTS, WAIT_MS, 'the queries')
  return { arrived, ends, close: () => socket.terminate() }
}

interface Written {
  readonly reference: string
  /** What the answer was, where it was not 201. */
  readonly refused: string | undefined
  /** Milliseconds by which the turn of this process came too late: a machine that is not quiet. */
  readonly late: number
}

/** Writes by the clock. Resolves with the writes in their order. */
const write = async (server: SpawnedServer, count: number): Promise<readonly Written[]> => {
  const began = performance.now()
  const answers: Promise<Written>[] = []
  for (let at = 0; at < count; at += 1) {
    await pause(Math.max(0, began + at * EACH_MS - performance.now()))
    const late = Math.max(0, performance.now() - began - at * EACH_MS)
    const id = `w${at}`
    const resource = {
      ...{ resourceType: 'Observation', id, status: 'final', code: { text: 'latency' } },
      subject: { reference: patient(at) },
    }
    const answer = async (): Promise<Written> => {
      const refused = await send(server, 'PUT', `/Observation/${id}`, resource).then(
        ({ status, text }) => (status === 201 ? undefined : `${status} ${text}`),
        (error: Error) => error.message,
      )
      return { reference: `Observation/${id}`, refused, late }
    }
    answers.push(answer())
  }
  return Promise.all(answers)
}

const share = (sorted: readonly number[], part: number): number =>
  sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] as number

interface Place {
  readonly name: string
  readonly servers: Readonly<Partial<Record<keyof typeof MOST, SpawnedServer>>> & { readonly primary: SpawnedServer }
  committed(): Promise<Times>
  stop(): Promise<void>
}

/** Resolves with a sentence for what was too late, or did not come. */
const measure = async (
  { name, servers, committed }: Place,
  count: number,
  report: (line: string) => void,
): Promise<readonly string[]> => {
  const followers = await Promise.all(
    Object.entries(servers).map(async ([role, server]) => ({
      role: role as keyof typeof MOST,
      ...(await follow(server)),
    })),
  )
  const all = (await write(servers.primary, WARM_UP + count)).slice(WARM_UP)
  const refused = all.flatMap((one) => one.refused ?? [])
  if (refused.length > 0) return [`${name}: ${refused.length} of ${count} writes failed, such as ${refused[0]}`]
  const written = all.map(({ reference }) => reference)
  const turns = all.map(({ late }) => late).sort((one, other) => one - other)
  const isThere = (): boolean => followers.every(({ arrived }) => written.every((one) => arrived.has(one)))
  await until(isThere, WAIT_MS, 'all frames').catch(() => undefined)
  const times = await committed()
  const load = `load ${loadavg()[0]?.toFixed(2)}; turns of this process p99 ${share(turns, 0.99).toFixed(1)} ms late`
  return followers.flatMap(({ role, arrived, ends, close }) => {
    const ended = [...ends]
    close()
    const missing = written.filter((one) => !arrived.has(one) || !times.has(one))
    if (missing.length > 0)
      return [`${name}, ${role}: ${missing.length} of ${count} writes had no frame; ${ended.slice(0, 3).join('; ')}`]
    const sorted = written.map((one) => (arrived.get(one) as number) - (times.get(one) as number)).sort((a, b) => a - b)
    const [middle, late, last] = [share(sorted, 0.5), share(sorted, 0.99), share(sorted, 1)].map((ms) => ms.toFixed(1))
    report(
      `${name}, ${role}: COMMIT to frame of ${count} writes p50 ${middle} ms, p99 ${late} ms, most ${last} ms (${load})`,
    )
    return Number(late) <= MOST[role] ? [] : [`${name}, ${role}: p99 is ${late} ms, of which ${MOST[role]} are asked`]
  })
}

const onPostgres = async (): Promise<Place> => {
  const postgres = await startPostgres({ settings: { track_commit_timestamp: 'on' } })
  await postgres.createDatabase(NAME)
  const url = postgres.url(undefined, NAME)
  const fresh: FreshDatabase = {
    settings: { database: { kind: 'postgres', postgres_url: url } },
    remove: async () => undefined,
  }
  const primary = await startPrimary(fresh, { plugins: PLUGINS })
  const replica = await startReplica(fresh, primary.base, { plugins: PLUGINS })
  await whenFollowed(fresh)
  return {
    name: 'PostgreSQL',
    servers: { primary, replica },
    async committed() {
      const client = new (await import('pg')).default.Client(url)
      await client.connect()
      const { rows } = await client.query(
        'SELECT id, extract(epoch FROM pg_xact_commit_timestamp(xmin))::float8 * 1000 AS at FROM resource',
      )
      await client.end()
      return new Map(rows.map(({ id, at }) => [`Observation/${id}`, at]))
    },
    async stop() {
      await replica.kill()
      await primary.kill()
      await postgres.stop()
    },
  }
}

const onSqlite = async (): Promise<Place> => {
  const folder = temporaryFolder()
  const primary = await spawnServer(`${folder.path}/latency.sqlite`, { plugins: PLUGINS })
  return {
    name: 'SQLite',
    servers: { primary },
    committed: async () => new Map(Object.entries((await send(primary, 'GET', '/commit-times')).json)),
    async stop() {
      await primary.kill()
      folder.remove()
    },
  }
}

/** Resolves with a sentence for each thing that was wrong. */
export const checkLatency = async (seconds: number, report: (line: string) => void): Promise<readonly string[]> => {
  const found: string[] = []
  for (const open of [onPostgres, onSqlite]) {
    const place = await open()
    try {
      found.push(...(await measure(place, (seconds * 1000) / EACH_MS, report)))
    } finally {
      await place.stop()
    }
  }
  return found
}

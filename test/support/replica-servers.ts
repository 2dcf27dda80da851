/** A primary and replicas of it on one PostgreSQL: in processes of their own, or in that of the test. */
import pg from 'pg'
import { chosenKind, type FreshDatabase } from './database-kinds.ts'
import { namedPlugins } from './named-plugins.ts'
import { serveHere } from './serve-here.ts'
import { type SpawnedServer, type SpawnOptions, spawnServer } from './spawn-server.ts'
import { until } from './until.ts'

const READY_MS = 20_000
export const SECRETS = { dcr_token: 'd'.repeat(32), confidential_secret: 'c'.repeat(32) }

/** The tables that every server may write, whatever its role. */
export const SHARED_TABLES = [
  'audit_inbox',
  'cluster_member',
  'limits_quota',
  'limits_server',
  'metering_usage',
  'request_log',
] as const

export interface RoleOptions extends Pick<SpawnOptions, 'plugins' | 'settings' | 'isEarly'> {
  /** Where it finds the database, if elsewhere than the test. */
  readonly url?: string
}

export const urlOf = ({ settings }: FreshDatabase): string =>
  (settings.database as { readonly postgres_url: string }).postgres_url

const ROLE = ['smart', 'cluster'] // what a server that has a role needs

/** A database with the tables of servers with these further plugins, which do not take the time to make them then. */
export const freshWith = async (plugins: readonly string[] = []): Promise<FreshDatabase> =>
  chosenKind.fresh(await namedPlugins([...ROLE, ...plugins]))

type Cluster = Readonly<Record<string, unknown>>

const inRole = (cluster: Cluster, { plugins = [], settings }: RoleOptions) => ({
  plugins: [...ROLE, ...plugins],
  settings: { smart: SECRETS, ...settings, cluster: { ...cluster, ...(settings?.cluster as object) } },
})
const placeOf = (fresh: FreshDatabase, { url = urlOf(fresh) }: RoleOptions) => ({
  database: { kind: 'postgres', postgres_url: url },
})

/** Functions that start a server in each role, in a process of its own or in that of the test. */
const rolesOf = <Server>(start: (place: ReturnType<typeof placeOf>, options: SpawnOptions) => Promise<Server>) => {
  const startAs = (fresh: FreshDatabase, cluster: Cluster, options: RoleOptions): Promise<Server> =>
    start(placeOf(fresh, options), { ...inRole(cluster, options), isEarly: options.isEarly ?? false })
  return {
    primary: (fresh: FreshDatabase, options: RoleOptions = {}) => startAs(fresh, { role: 'primary' }, options),
    /** It waits for the lease of a primary. */
    standby: (fresh: FreshDatabase, options: RoleOptions = {}) =>
      startAs(fresh, { role: 'standby' }, { ...options, isEarly: true }),
    replica: (fresh: FreshDatabase, primaryUrl: string, options: RoleOptions = {}) =>
      startAs(fresh, { role: 'replica', primary_url: primaryUrl }, options),
  }
}

export const { primary: startPrimary, standby: startStandby, replica: startReplica } = rolesOf(spawnServer)
export const { primary: primaryHere, standby: standbyHere, replica: replicaHere } = rolesOf(serveHere)

/** `ok`, or what /readyz says is missing. */
export const reasonOf = async ({ base }: Pick<SpawnedServer, 'base'>): Promise<string> => {
  const { reason = 'ok' } = (await (await fetch(`${base}/readyz`)).json()) as { readonly reason?: string }
  return reason
}

export const whenSays = (server: Pick<SpawnedServer, 'base'>, reason: string, ms = READY_MS): Promise<void> =>
  until(async () => (await reasonOf(server)) === reason, ms, `a server to say: ${reason}`)

/** Resolves when the primary knows of a server that waits or follows: from then on all its commits have rows. */
export const whenFollowed = async (fresh: FreshDatabase): Promise<void> => {
  const client = new pg.Client(urlOf(fresh))
  await client.connect()
  try {
    const numberOf = async (query: string): Promise<number> =>
      (await client.query(`SELECT (${query})::int AS n`)).rows[0].n
    const isThere = async (): Promise<boolean> => (await numberOf('SELECT count(*) FROM cluster_member')) > 0
    await until(isThere, READY_MS, 'a server that follows')
    const beat = await numberOf('SELECT beat FROM cluster_lease')
    // One beat may have been under way.
    const isTold = async (): Promise<boolean> => (await numberOf('SELECT beat FROM cluster_lease')) > beat + 1
    await until(isTold, READY_MS, 'two beats of the primary')
  } finally {
    await client.end()
  }
}

/** Another role of the database, which may read everything and write the shared tables only. Returns the URL for it. */
export const asReader = async (fresh: FreshDatabase): Promise<string> => {
  const url = new URL(urlOf(fresh))
  const client = new pg.Client(url.href)
  await client.connect()
  try {
    await client.query(`DO $$ BEGIN CREATE ROLE reader LOGIN; EXCEPTION WHEN duplicate_object THEN NULL; END $$`)
    await client.query('GRANT SELECT ON ALL TABLES IN SCHEMA public TO reader')
    const { rows } = await client.query<{ name: string }>('SELECT tablename AS name FROM pg_tables')
    for (const { name } of rows)
      if ((SHARED_TABLES as readonly string[]).includes(name))
        await client.query(`GRANT INSERT, UPDATE, DELETE ON ${name} TO reader`)
  } finally {
    await client.end()
  }
  url.username = 'reader'
  return url.href
}

export type Json = Record<string, any>

export interface Sent {
  readonly status: number
  /** X-Snapshot */
  readonly snapshot: string | null
  readonly text: string
  /** Empty where the body is. */
  readonly json: Json
}

export const send = async (
  { base }: Pick<SpawnedServer, 'base'>,
  method: string,
  path: string,
  body?: Json,
  more: Readonly<Record<string, string | null>> = {},
): Promise<Sent> => {
  const headers = new Headers(body === undefined ? {} : { 'content-type': 'application/fhir+json' })
  for (const [name, value] of Object.entries(more)) if (value !== null) headers.set(name, value)
  const answer = await fetch(`${base}${path}`, {
    method,
    headers,
    ...(body !== undefined && { body: JSON.stringify(body) }),
  })
  const text = await answer.text()
  const isJson = answer.headers.get('content-type')?.includes('json') === true
  const json = (isJson && text !== '' ? JSON.parse(text) : {}) as Json
  return { status: answer.status, snapshot: answer.headers.get('x-snapshot'), text, json }
}

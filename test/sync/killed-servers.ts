/**
 * Live queries while the server that writes is killed: two servers on one PostgreSQL, of which one waits. Clients come back to
 * whichever writes and resume. At every quiet moment their sets have to be what their searches find: ids and versions.
 */
import { type SupervisedServer, superviseServer } from '../cluster/supervised-server.ts'
import { createChance } from '../support/chance.ts'
import { startPostgres } from '../support/postgres.ts'
import { reasonOf } from '../support/replica-servers.ts'
import { type TestToken, tokenHeaders } from '../support/scoped-callers.ts'
import { openSync, type SyncClient } from '../support/sync-client.ts'
import { until } from '../support/until.ts'

type Json = Record<string, any>

const NAME = 'live'
const START_MS = 60_000
const QUIET_MS = 15_000 // within which a set has to be right
const CHANGES = 300 // between two quiet moments
const AT_ONCE = 4
const PATIENTS = ['p0', 'p1', 'p2']
const IDS = Array.from({ length: 60 }, (_, at) => `o${at}`)
const QUERIES = [
  'Observation?status=final,amended',
  'Observation?subject=Patient/p0',
  'Observation?code=http://loinc.org|a,b',
  'Observation?status:not=final',
  'Observation?subject:Patient.gender=female',
  'Patient?gender=female',
]
const CALLERS: readonly TestToken[] = [
  { scope: 'system/*.cruds' },
  { scope: 'patient/*.rs', patient: 'p1' },
  { scope: 'system/Observation.rs?status=final system/Patient.rs' },
]
const WRITER: TestToken = { scope: 'system/*.cruds' }

interface Follower {
  readonly token: TestToken
  client: SyncClient | undefined
  /** What the client had when its connection was lost. */
  readonly sets: Map<string, Map<string, Json>>
  readonly ats: Map<string, string>
}

export interface KilledServers {
  readonly kills: number
  readonly changes: number
  readonly quiet: number
  readonly resumed: number
  readonly reset: number
  readonly faults: readonly string[]
}

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))
const shownOf = (resources: readonly Json[]): string =>
  resources
    .map(({ id, meta }) => `${id}/${meta.versionId}`)
    .sort()
    .join(' ')

const startServers = async (postgres: Awaited<ReturnType<typeof startPostgres>>): Promise<SupervisedServer[]> => {
  const servers: SupervisedServer[] = []
  for (const name of ['one', 'other'])
    servers.push(
      await superviseServer({
        ...{ name, databasePort: postgres.port, databaseUrl: postgres.url(undefined, NAME), settings: {} },
        plugins: ['search-definitions', 'scoped-callers', 'sync'],
      }),
    )
  return servers
}

export const runKilledServers = async (
  kills: number,
  seed: number,
  report: (line: string) => void,
): Promise<KilledServers> => {
  const chance = createChance(seed)
  const pick = <T>(list: readonly T[]): T => list[chance(list.length)] as T
  const postgres = await startPostgres()
  await postgres.createDatabase(NAME)
  const servers = await startServers(postgres)
  const faults: string[] = []
  let [killed, changes, quiet, resumed, reset] = [0, 0, 0, 0, 0]

  const findWriter = async (): Promise<SupervisedServer | undefined> => {
    for (const server of servers) if ((await reasonOf(server).catch(() => 'away')) === 'ok') return server
    return undefined
  }
  const whenWriter = async (): Promise<SupervisedServer> => {
    let found: SupervisedServer | undefined
    await until(
      async () => {
        found = await findWriter()
        return found !== undefined
      },
      START_MS,
      'a server that writes',
    )
    return found as SupervisedServer
  }
  let writer = await whenWriter()

  const ask = async (method: string, path: string, token: TestToken, body?: Json) => {
    const headers = { ...tokenHeaders(token), ...(body && { 'content-type': 'application/fhir+json' }) }
    const signal = AbortSignal.timeout(10_000)
    const answer = await fetch(`${writer.base}${path}`, {
      ...{ method, headers, signal },
      ...(body && { body: JSON.stringify(body) }),
    })
    return { status: answer.status, json: (await answer.json().catch(() => ({}))) as Json }
  }
  const resource = (id: string): Json => ({
    ...{ resourceType: 'Observation', id, status: pick(['final', 'amended', 'preliminary']) },
    code: { coding: [{ system: 'http://loinc.org', code: pick(['a', 'b', 'c']) }] },
    subject: { reference: `Patient/${pick(PATIENTS)}` },
  })
  const patient = (id: string): Json => ({ resourceType: 'Patient', id, gender: pick(['male', 'female']) })
  const put = (one: Json): [string, string, Json] => ['PUT', `/${one.resourceType}/${one.id}`, one]
  const randomChange = (): [string, string, Json?] => {
    const kind = chance(10)
    if (kind === 0) return put(patient(pick(PATIENTS)))
    if (kind === 1) return ['DELETE', `/Observation/${pick(IDS)}`]
    if (kind < 8) return put(resource(pick(IDS)))
    const entry = [...new Set([pick(IDS), pick(IDS), pick(IDS)])].map((id) => ({
      resource: resource(id),
      request: { method: 'PUT', url: `Observation/${id}` },
    }))
    return ['POST', '/', { resourceType: 'Bundle', type: 'transaction', entry }]
  }
  /** A change whose answer is lost, or that is refused while nobody writes, may have been made or not. */
  const change = async (): Promise<void> => {
    const [method, path, body] = randomChange()
    const { status } = await ask(method, path, WRITER, body).catch(() => ({ status: 0 }))
    changes += 1
    if (![0, 200, 201, 204, 503].includes(status)) faults.push(`${method} ${path} is answered with ${status}`)
    if (status === 0 || status === 503) await pause(50)
  }

  const leave = (one: Follower): void => {
    if (one.client === undefined) return
    for (const [id, set] of one.client.sets) one.sets.set(id, new Map(set))
    for (const id of one.client.sets.keys()) {
      const at = one.client.lastAt(id)
      if (at !== undefined) one.ats.set(id, at)
    }
    // What was reset is forgotten.
    for (const id of [...one.sets.keys()]) if (!one.client.sets.has(id)) one.sets.delete(id)
    faults.push(...one.client.faults.splice(0))
    one.client = undefined
  }
  const come = async (one: Follower): Promise<void> => {
    const client = await openSync(writer.base, { headers: tokenHeaders(one.token) })
    for (const [at, query] of QUERIES.entries()) {
      const id = `q${at}`
      const [had, resume] = [one.sets.get(id), one.ats.get(id)]
      if (had !== undefined && resume !== undefined) {
        client.sets.set(id, had)
        const { op } = await client.subscribe(id, query, resume)
        if (op === 'ready') resumed += 1
        else reset += 1
      }
      if (!client.sets.has(id)) await client.subscribe(id, query)
    }
    one.client = client
  }
  /** Connects again where the connection was lost. */
  const settle = async (one: Follower): Promise<void> => {
    for (let tries = 0; one.client === undefined || one.client.closed !== undefined; tries += 1) {
      leave(one)
      writer = await whenWriter()
      await come(one).catch(async (error: Error) => {
        if (tries > 100) faults.push(`a client cannot come back: ${error.message}`)
        await pause(100)
      })
    }
  }
  const compare = async (one: Follower): Promise<void> => {
    for (const [at, query] of QUERIES.entries()) {
      const [type, text] = query.split('?')
      const id = `q${at}`
      let [has, expected] = ['', '']
      const isAlike = async (): Promise<boolean> => {
        await settle(one)
        if (one.client?.sets.has(id) === false) await one.client.subscribe(id, query)
        const { status, json } = await ask('GET', `/${type}?${text}&_count=1000`, one.token)
        has = shownOf([...(one.client?.sets.get(id)?.values() ?? [])])
        expected = status === 200 ? shownOf((json.entry ?? []).map(({ resource: found }: Json) => found)) : `${status}`
        return has === expected
      }
      await until(() => isAlike().catch(() => false), QUIET_MS, query).catch(() =>
        faults.push(`${JSON.stringify(one.token)} ${query}\n  has      ${has}\n  expected ${expected}`),
      )
    }
  }
  const followers: Follower[] = CALLERS.map((token) => ({ token, client: undefined, sets: new Map(), ats: new Map() }))
  try {
    for (const id of PATIENTS) await ask('PUT', `/Patient/${id}`, WRITER, patient(id))
    for (const one of followers) await settle(one)
    while (killed < kills && faults.length === 0) {
      const killAt = chance(CHANGES)
      for (let done = 0; done < CHANGES; done += AT_ONCE) {
        if (done <= killAt && killAt < done + AT_ONCE) {
          writer.signal('SIGKILL')
          killed += 1
        }
        await Promise.all(Array.from({ length: AT_ONCE }, change))
        if (chance(4) === 0) await settle(pick(followers))
        if ((await findWriter()) === undefined) writer = await whenWriter()
      }
      writer = await whenWriter()
      for (const one of followers) await compare(one)
      quiet += 1
      if (killed % 10 === 0) report(`${killed} kills, ${changes} changes, ${quiet} quiet moments, ${resumed} resumed`)
    }
    faults.push(...servers.flatMap((server) => server.faults))
  } finally {
    for (const { client } of followers) await client?.close().catch(() => undefined)
    await Promise.all(servers.map((server) => server.stop()))
    await postgres.stop()
  }
  return { kills: killed, changes, quiet, resumed, reset, faults }
}

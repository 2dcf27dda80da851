/** Exports whose servers are killed, stopped where they stand, or end: rows K20 to K23, by behaviour. */
// database: sqlite, because it starts servers on SQLite and on PostgreSQL itself
// waits: for servers that are killed or end, and for the next that takes over
import { createHash } from 'node:crypto'
import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { type DatabaseKind, postgresKind, sqliteKind, temporaryFolder } from '../../support/database-kinds.ts'
import { namedPlugins } from '../../support/named-plugins.ts'
import { type ServerHere, serveHere } from '../../support/serve-here.ts'
import { type SpawnedServer, spawnServer } from '../../support/spawn-server.ts'
import { until } from '../../support/until.ts'
import type { Json } from './export-clinic.ts'

const TAKEOVER_MS = 35_000
const TYPES = ['Patient', 'Observation', 'Practitioner', 'Organization', 'Encounter', 'Basic']
const EACH = 10

interface Place {
  /** Finished files in the folder of a job. */
  files(job: string): number
  start(isEarly?: boolean): Promise<SpawnedServer>
  /** Starts one in the process of the test, for a server that nothing is done to. */
  startLast(isEarly?: boolean): Promise<ServerHere>
  remove(): Promise<void>
}

type Server = Pick<SpawnedServer, 'base'>

const placeOf = async (kind: DatabaseKind, plugins: readonly string[]): Promise<Place> => {
  const all = [...plugins, 'export', 'slow-export']
  const { settings, remove } = await kind.migrated(await namedPlugins(all))
  const folder = temporaryFolder()
  const options = (isEarly: boolean) => ({ plugins: all, settings: { export: { dir: folder.path } }, isEarly })
  return {
    files: (job) => {
      const path = join(folder.path, job.split('/').at(-1) as string)
      return existsSync(path) ? readdirSync(path).filter((name) => name.endsWith('.ndjson')).length : 0
    },
    start: (isEarly = false) => spawnServer(settings, options(isEarly)),
    startLast: (isEarly = false) => serveHere(settings, options(isEarly)),
    async remove() {
      await remove()
      folder.remove()
    },
  }
}

const send = (url: string, method = 'GET', body?: object): Promise<Response> =>
  fetch(url, {
    method,
    headers: { 'content-type': 'application/fhir+json' },
    ...(body && { body: JSON.stringify(body) }),
  })

const fill = async ({ base }: Server): Promise<void> => {
  const entry = TYPES.flatMap((resourceType) =>
    Array.from({ length: EACH }, (_, n) => ({
      resource: { resourceType, id: `${resourceType}-${n}`, language: `x-${n}` },
      request: { method: 'PUT', url: `${resourceType}/${resourceType}-${n}` },
    })),
  )
  const answer = await send(base, 'POST', { resourceType: 'Bundle', type: 'batch', entry })
  const { entry: made } = (await answer.json()) as Json
  for (const { response } of made) assert.match(response.status, /^201/, JSON.stringify(response))
}
const begin = async ({ base }: Server): Promise<string> => {
  const answer = await send(`${base}/$export`)
  assert.is(answer.status, 202, await answer.text())
  return new URL(answer.headers.get('content-location') as string).pathname
}
/** The status, and the answer of a job that has ended; a server that starts or polls that come too fast say nothing. */
const look = async ({ base }: Server, job: string): Promise<{ readonly status: number; readonly json?: Json }> => {
  const answer = await send(`${base}${job}`)
  const text = await answer.text()
  return {
    status: answer.status,
    ...(answer.status === 200 || answer.status === 500 ? { json: JSON.parse(text) as Json } : {}),
  }
}
/** Waits for so many files of all six. */
const whenWritten = (place: Place, job: string, files: number, withinMs = 30_000): Promise<void> =>
  until(() => place.files(job) >= files, withinMs, `${files} files`)
/** Asks only once all files are there: each poll is a request. */
const whenExported = async (place: Place, server: Server, job: string): Promise<Json> => {
  await whenWritten(place, job, TYPES.length, TAKEOVER_MS)
  return whenEnded(server, job)
}
const whenEnded = async (server: Server, job: string): Promise<Json> => {
  let found: Json = {}
  await until(
    async () => {
      const { status, json } = await look(server, job)
      if (json === undefined) return false
      found = { ...json, status }
      return true
    },
    TAKEOVER_MS,
    'the export to end',
  )
  return found
}
/** Type and digest of each file; the addresses differ. */
const contentOf = async ({ base }: Server, { output }: Json): Promise<readonly string[]> =>
  Promise.all(
    output.map(async ({ type, url, count }: Json) => {
      const { pathname, search } = new URL(url)
      const answer = await send(`${base}${pathname}${search}`)
      assert.is(answer.status, 200)
      return `${type} ${count} ${createHash('sha256')
        .update(Buffer.from(await answer.arrayBuffer()))
        .digest('hex')}`
    }),
  )
const end = async (server: Server, job: string): Promise<void> => void (await send(`${server.base}${job}`, 'DELETE'))
const whenReady = (server: Server): Promise<void> =>
  until(async () => (await send(`${server.base}/readyz`)).status === 200, 20_000, 'the other server to be ready')

/** The place of the first test, and its last server, which K22 kills. */
let left: { readonly place: Place; readonly server: SpawnedServer } | undefined

for (const kind of [sqliteKind, postgresKind])
  test(`K20, K23 ${kind.name}: killed early, half-way and late, an export ends with the files of an undisturbed one; its status survives`, async () => {
    const place = await placeOf(kind, ['jobs'])
    let server = await place.start()
    /** This server is the last one, and is not killed here. */
    let last: ServerHere | undefined
    await fill(server)
    const whole = await begin(server)
    const undisturbed = await contentOf(server, await whenExported(place, server, whole))
    assert.is(undisturbed.length, TYPES.length)
    for (const files of [1, 3, 5]) {
      const isBeside = kind === postgresKind // and waits for the lease; before the export, which would end meanwhile
      const isLast = isBeside && files === 5
      if (isLast) last = await place.startLast(true)
      const next = isBeside && !isLast ? await place.start(true) : undefined
      const job = await begin(server)
      await whenWritten(place, job, files)
      await server.kill()
      const from = performance.now()
      if (!isLast) server = next ?? (await place.start())
      const current = last ?? server
      await whenReady(current)
      const manifest = await whenExported(place, current, job)
      assert.is(manifest.status, 200, JSON.stringify(manifest))
      assert.ok(performance.now() - from < TAKEOVER_MS)
      assert.equal(await contentOf(current, manifest), undisturbed)
      await end(current, job)
    }
    // The last test asks the same of a server that ended by itself.
    const current = last ?? server
    assert.equal(await contentOf(current, await whenEnded(current, whole)), undisturbed)
    await end(current, whole)
    if (last === undefined) {
      left = { place, server }
      return
    }
    await last.stop()
    await place.remove()
  })

test('K21: a worker that stood still while another one took over adds nothing: each file is there once', async () => {
  const place = await placeOf(postgresKind, ['writers-together', 'quick-jobs'])
  const first = await place.start()
  await fill(first)
  const undisturbed = await contentOf(first, await whenExported(place, first, await begin(first)))
  const job = await begin(first)
  await whenWritten(place, job, 2)
  const second = await place.startLast()
  first.child.kill('SIGSTOP')
  const manifest = await whenExported(place, second, job)
  first.child.kill('SIGCONT')
  assert.is(manifest.status, 200)
  assert.equal(await contentOf(second, manifest), undisturbed)
  // The one that slept finds out, and says the same.
  const { status: _status, ...told } = manifest
  const links = ({ output }: Json): Json =>
    output.map(({ url, ...one }: Json) => ({ ...one, path: new URL(url).search }))
  await until(async () => (await look(first, job)).status === 200, 10_000, 'the first server to answer')
  assert.equal(links((await look(first, job)).json as Json), links(told))
  await new Promise((resolve) => setTimeout(resolve, 1_000))
  assert.equal(links((await look(second, job)).json as Json), links(told))
  await first.kill()
  await second.stop()
  await place.remove()
})

test('K22: an export that was killed three times has failed, and is not started again', async () => {
  if (left === undefined) throw new Error('the first test left no server')
  let { place, server } = left
  const job = await begin(server)
  for (let times = 0; times < 3; times += 1) {
    await until(async () => (await look(server, job)).status === 202, 10_000, 'the export to go on')
    await whenWritten(place, job, 1 + times)
    await server.kill()
    server = await place.start()
  }
  const failed = await whenEnded(server, job)
  assert.is(failed.status, 500)
  assert.match(failed.issue[0].diagnostics, /three times/)
  assert.is(await server.end('SIGTERM'), 0)
  const last = await place.startLast()
  assert.equal(await whenEnded(last, job), failed)
  await last.stop()
  await place.remove()
})

test.run()

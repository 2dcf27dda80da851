/**
 * Servers killed at random while they export: `npm run check:export -- [kills] [exports] [minutes]`, on SQLite and on PostgreSQL
 * with a standby, or on the one that TEST_DATABASE names. Each export has to end with the resources of its time, or to have failed
 * after three starts; none may be stuck for two minutes. It ends by itself after the minutes, 25 unless told.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { postgresKind, sqliteKind } from '../support/database-kinds.ts'
import { type SpawnedServer, spawnServer } from '../support/spawn-server.ts'

type Json = Record<string, any>

const [kills = 200, exports = 50, minutes = 25] = process.argv.slice(2).map(Number)
const LIMIT_MS = minutes * 60_000
const KINDS = [sqliteKind, postgresKind].filter(({ name }) => (process.env.TEST_DATABASE ?? name) === name)
const STUCK_MS = 120_000
const TYPES = ['Patient', 'Observation', 'Practitioner', 'Organization', 'Encounter']
const EACH = 400
const AT_ONCE = 2
const began = performance.now()

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))
/** Undefined where the server is gone. */
const ask = async (url: string, method = 'GET', body?: object): Promise<Response | undefined> =>
  fetch(url, {
    method,
    headers: { 'content-type': 'application/fhir+json' },
    ...(body && { body: JSON.stringify(body) }),
  }).catch(() => undefined)

interface Counts {
  right: number
  failed: number
  wrong: number
  stuck: number
}

const run = async (kind: typeof sqliteKind): Promise<Counts> => {
  const { settings, remove } = await kind.fresh()
  const dir = mkdtempSync(join(tmpdir(), 'refhir-export-'))
  const hasStandby = kind.name === 'postgres'
  const start = (isEarly: boolean): Promise<SpawnedServer> =>
    spawnServer(settings, { plugins: ['jobs', 'export', 'slow-export'], settings: { export: { dir } }, isEarly })
  let server = await start(false)
  let standby = hasStandby ? await start(true) : undefined
  const entry = TYPES.flatMap((resourceType) =>
    Array.from({ length: EACH }, (_, n) => ({
      resource: { resourceType, id: `${resourceType}-${n}` },
      request: { method: 'PUT', url: `${resourceType}/${resourceType}-${n}` },
    })),
  )
  await ask(server.base, 'POST', { resourceType: 'Bundle', type: 'batch', entry })

  const counts: Counts = { right: 0, failed: 0, wrong: 0, stuck: 0 }
  /** Path of a job → when it began. */
  const open = new Map<string, number>()
  let begun = 0
  let killed = 0
  let isOver = false

  const isRight = async (manifest: Json): Promise<boolean | undefined> => {
    const ids = new Set<string>()
    let lines = 0
    for (const { url } of manifest.output as Json[]) {
      const { pathname, search } = new URL(url)
      const answer = await ask(`${server.base}${pathname}${search}`)
      if (answer?.status !== 200) return undefined
      for (const line of (await answer.text()).split('\n').slice(0, -1)) {
        const { resourceType, id } = JSON.parse(line) as Json
        ids.add(`${resourceType}/${id}`)
        lines += 1
      }
    }
    return ids.size === lines && ids.size === TYPES.length * EACH
  }
  const look = async (job: string): Promise<void> => {
    const answer = await ask(`${server.base}${job}`)
    const status = answer?.status
    if (status === 200) {
      const right = await isRight((await answer?.json().catch(() => ({ output: [] }))) as Json).catch(() => undefined)
      if (right === undefined) return
      counts[right ? 'right' : 'wrong'] += 1
    } else if (status === 500) counts.failed += 1
    else if (status === 404) counts.wrong += 1
    else {
      if (performance.now() - (open.get(job) as number) > STUCK_MS) counts.stuck += 1
      else return
    }
    open.delete(job)
    await ask(`${server.base}${job}`, 'DELETE')
  }
  const client = async (): Promise<void> => {
    while (!isOver && (counts.right + counts.failed + counts.wrong + counts.stuck < exports || killed < kills)) {
      if (open.size < AT_ONCE && begun < exports) {
        const answer = await ask(`${server.base}/$export`)
        if (answer?.status === 202) {
          open.set(new URL(answer.headers.get('content-location') as string).pathname, performance.now())
          begun += 1
        }
      }
      for (const job of [...open.keys()]) await look(job)
      if (begun === exports && open.size === 0) return
      await pause(200)
    }
  }
  const killer = async (): Promise<void> => {
    while (killed < kills && !isOver && !(begun === exports && open.size === 0)) {
      await pause(Math.random() * 2_500)
      await server.kill()
      killed += 1
      server = standby ?? (await start(false))
      if (hasStandby) standby = await start(true)
      // A server that is not ready yet works on nothing.
      for (let n = 0; n < 200 && (await ask(`${server.base}/readyz`))?.status !== 200; n += 1) await pause(100)
    }
  }
  const timer = setTimeout(
    () => {
      isOver = true
    },
    Math.max(0, LIMIT_MS - (performance.now() - began)),
  )
  await Promise.all([client(), killer()])
  clearTimeout(timer)
  const seconds = Math.round((performance.now() - began) / 1000)
  console.log(
    `${kind.name}: ${killed} kills, ${begun} exports: ${counts.right} right, ${counts.failed} failed after three starts, ${counts.wrong} wrong, ${counts.stuck + open.size} stuck or unfinished; ${seconds} s`,
  )
  counts.stuck += open.size
  await server.kill()
  await standby?.kill()
  rmSync(dir, { recursive: true, force: true })
  await remove()
  return counts
}

let wrong = 0
for (const kind of KINDS) {
  const { wrong: others, stuck } = await run(kind)
  wrong += others + stuck
}
process.exit(wrong === 0 ? 0 : 1)

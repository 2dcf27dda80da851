/** Measures how long changes are refused when the server that writes is killed, suspended, or asked to stop. Rows F1 to F3. */
import { postgresKind } from '../support/database-kinds.ts'
import { findLosses } from '../support/losses.ts'
import { whenSays } from '../support/replica-servers.ts'
import { type SpawnedServer, spawnServer } from '../support/spawn-server.ts'
import { until } from '../support/until.ts'

/** The signal that the holder gets, and the longest time until the other one takes changes. */
const ASKED = [
  { signal: 'SIGKILL', seconds: 10, code: null },
  { signal: 'SIGSTOP', seconds: 15, code: 75 },
  { signal: 'SIGTERM', seconds: 1, code: 0 },
] as const

const WAITING = 'waiting for the writer lease'
const START_MS = 60_000
const END_MS = 30_000
const EVERY_MS = 10 // between two changes that are refused

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))
const atShare = (sorted: readonly number[], share: number): number =>
  sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)] ?? Number.NaN

/** The id of a Patient that was created; undefined where none was. */
const create = async ({ base }: SpawnedServer): Promise<string | undefined> => {
  try {
    const headers = { 'content-type': 'application/fhir+json' }
    const answer = await fetch(`${base}/Patient`, { method: 'POST', headers, body: '{"resourceType":"Patient"}' })
    const { id } = (await answer.json()) as { readonly id: string }
    return answer.status === 201 ? id : undefined
  } catch {
    return undefined
  }
}

export const checkTakeovers = async (rounds: number): Promise<readonly string[]> => {
  const { settings, remove } = await postgresKind.fresh()
  const wrong: string[] = []
  const created: string[] = []
  const started = new Set<SpawnedServer>()
  const start = async (): Promise<SpawnedServer> => {
    const server = await spawnServer(settings, { plugins: ['audit'], isEarly: true })
    started.add(server)
    return server
  }
  /** Resolves with the milliseconds until `next` took a change. */
  const takeOver = async (holder: SpawnedServer, next: SpawnedServer, signal: NodeJS.Signals): Promise<number> => {
    const before = await create(holder)
    if (before === undefined) wrong.push('the holder took no change')
    else created.push(before)
    const from = performance.now()
    holder.child.kill(signal)
    let made = await create(next)
    while (made === undefined && performance.now() - from < START_MS) {
      await pause(EVERY_MS)
      made = await create(next)
    }
    const took = performance.now() - from
    if (made === undefined) wrong.push(`${signal}: nobody took over`)
    else created.push(made)
    return took
  }
  try {
    let holder = await start()
    await whenSays(holder, 'ok', START_MS)
    for (const { signal, seconds, code } of ASKED) {
      const times: number[] = []
      for (let round = 0; round < rounds; round += 1) {
        const next = await start()
        await whenSays(next, WAITING, START_MS)
        times.push(await takeOver(holder, next, signal))
        holder.child.kill('SIGCONT')
        const { child } = holder
        await until(() => child.exitCode !== null || child.signalCode !== null, END_MS, 'the holder to end')
        if (child.exitCode !== code) wrong.push(`${signal}: the holder ended with ${child.exitCode}`)
        started.delete(holder)
        holder = next
      }
      times.sort((one, other) => one - other)
      const shown = (share: number): string => (atShare(times, share) / 1000).toFixed(2)
      console.log(`${signal}: ${rounds} takeovers, p50 ${shown(0.5)} s, p100 ${shown(1)} s; asked are ${seconds} s`)
      if (atShare(times, 1) > seconds * 1000) wrong.push(`${signal}: one took ${shown(1)} s`)
    }
    wrong.push(...(await findLosses((path) => fetch(`${holder.base}${path}`), { created, versions: new Map() })))
    const trail = (await (await fetch(`${holder.base}/_audit/verify`)).json()) as { readonly ok?: boolean }
    if (trail.ok !== true) wrong.push(`the audit trail is ${JSON.stringify(trail)}`)
    console.log(`${created.length} changes were acknowledged; the audit trail is ${JSON.stringify(trail)}`)
  } finally {
    for (const server of started) {
      server.child.kill('SIGCONT')
      await server.kill()
    }
    await remove()
  }
  return wrong
}

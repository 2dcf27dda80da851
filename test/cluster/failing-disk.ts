/**
 * A server on SQLite whose disk fails once, and whose disk is slow. Rows F12 and F13. strace, which has to be installed, makes the
 * system call fail.
 */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { sqliteKind } from '../support/database-kinds.ts'
import { type SpawnedServer, spawnServer } from '../support/spawn-server.ts'
import { until } from '../support/until.ts'
import { outcomeOf, put } from '../support/writer-pair.ts'

const EVERY_SYNC = 'fdatasync,fsync'
const ATTACH_MS = 10_000
const SLOW_MICROS = 500_000

/** Attached to all threads of the process; what it injects begins when this resolves. */
const attach = async ({ child }: SpawnedServer, injection: string): Promise<ChildProcess> => {
  const arguments_ = [
    '-f',
    '-p',
    String(child.pid),
    '-e',
    `trace=${EVERY_SYNC}`,
    '-e',
    `inject=${EVERY_SYNC}:${injection}`,
  ]
  const tracer = spawn('strace', arguments_, { stdio: ['ignore', 'ignore', 'pipe'] })
  let said = ''
  tracer.stderr.setEncoding('utf8').on('data', (text: string) => {
    said += text
  })
  await until(() => said.includes('attached') || tracer.exitCode !== null, ATTACH_MS, 'strace')
  if (tracer.exitCode !== null) throw new Error(`strace could not attach: ${said}`)
  return tracer
}
const detach = async (tracer: ChildProcess): Promise<void> => {
  if (tracer.exitCode !== null) return
  const gone = once(tracer, 'exit')
  tracer.kill('SIGINT')
  await gone
}

/** `rounds`: how often the disk fails. */
export const checkFailingDisk = async (rounds: number): Promise<readonly string[]> => {
  if (spawnSync('strace', ['-V']).status !== 0) return ['strace is not installed; the disk cannot be made to fail']
  const wrong: string[] = []
  const after = new Map<string, number>()
  for (let round = 1; round <= rounds; round += 1) {
    const fresh = await sqliteKind.fresh()
    const server = await spawnServer(fresh.settings)
    const acknowledged: string[] = []
    const write = async (id: string): Promise<number> => {
      const status = await outcomeOf(put(server, id))
      if (status === 201) acknowledged.push(id)
      return status
    }
    for (let n = 0; n < 5; n += 1) await write(`before${n}`)
    const tracer = await attach(server, 'error=EIO')
    const failed = await Promise.all(Array.from({ length: 4 }, (_, n) => write(`failing${n}`)))
    if (failed.some((status) => status < 300 && status > 0))
      wrong.push(`round ${round}: acknowledged with EIO: ${failed}`)
    await detach(tracer)
    const later: number[] = []
    for (let n = 0; n < 5; n += 1) later.push(await write(`after${n}`))
    if (later.some((status) => status !== 503 && status !== 0))
      wrong.push(`round ${round}: after the disk had failed changes were answered with ${later}`)
    const then = server.child.exitCode === null ? `answers ${later}` : `ended with ${server.child.exitCode}`
    const shown = `${failed} while it failed, then ${then}`
    after.set(shown, (after.get(shown) ?? 0) + 1)
    await server.kill()
    const again = await spawnServer(fresh.settings)
    for (const id of acknowledged)
      if ((await fetch(`${again.base}/Patient/${id}`)).status !== 200) wrong.push(`round ${round}: ${id} is lost`)
    if ((await outcomeOf(put(again, 'again'))) !== 201) wrong.push(`round ${round}: the next server makes no changes`)
    await again.kill()
    await fresh.remove()
  }
  console.log(`EIO, ${rounds} times: ${JSON.stringify(Object.fromEntries(after))}`)

  const fresh = await sqliteKind.fresh()
  const server = await spawnServer(fresh.settings)
  const tracer = await attach(server, `delay_enter=${SLOW_MICROS}`)
  const from = performance.now()
  const statuses = await Promise.all(Array.from({ length: 20 }, (_, n) => outcomeOf(put(server, `slow${n}`))))
  console.log(
    `a disk that takes 0.5 s: 20 changes took ${((performance.now() - from) / 1000).toFixed(1)} s: ${statuses}`,
  )
  if (statuses.some((status) => status !== 201)) wrong.push(`with a slow disk changes were answered with ${statuses}`)
  await detach(tracer)
  await server.kill()
  await fresh.remove()
  return wrong
}

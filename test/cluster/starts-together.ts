/** Three servers that start at the same moment on one empty database, again and again: one of them writes. Row F16. */
import pg from 'pg'
import { postgresKind } from '../support/database-kinds.ts'
import { reasonOf, urlOf } from '../support/replica-servers.ts'
import { spawnServer } from '../support/spawn-server.ts'
import { until } from '../support/until.ts'
import { outcomeOf, put, WAITING } from '../support/writer-pair.ts'

const TOGETHER = 3
const START_MS = 60_000

export const checkStartsTogether = async (rounds: number): Promise<readonly string[]> => {
  const wrong: string[] = []
  let longest = 0
  for (let round = 1; round <= rounds; round += 1) {
    const fresh = await postgresKind.fresh()
    const from = performance.now()
    const starting = Array.from({ length: TOGETHER }, () => spawnServer(fresh.settings, { isEarly: true }))
    const servers = await Promise.all(starting)
    const reasons = (): Promise<string[]> => Promise.all(servers.map(reasonOf))
    const isSettled = async (): Promise<boolean> => {
      const all = await reasons()
      return all.includes('ok') && all.filter((one) => one === WAITING).length === TOGETHER - 1
    }
    await until(isSettled, START_MS, 'one to write and the others to wait').catch(async (error: Error) => {
      wrong.push(`round ${round}: ${error.message}: ${await reasons()}`)
    })
    longest = Math.max(longest, performance.now() - from)
    const statuses = await Promise.all(servers.map((one, at) => outcomeOf(put(one, `p${at}`))))
    if (statuses.sort().join() !== '201,503,503') wrong.push(`round ${round}: changes were answered with ${statuses}`)
    const onlooker = new pg.Client(urlOf(fresh))
    await onlooker.connect()
    const { rows } = await onlooker.query('SELECT count(*)::int AS n FROM cluster_epoch')
    if (rows[0].n !== 1) wrong.push(`round ${round}: ${rows[0].n} epochs began`)
    await onlooker.end()
    await Promise.all(servers.map((one) => one.kill()))
    await fresh.remove()
  }
  console.log(`${rounds} rounds of ${TOGETHER}; the longest took ${(longest / 1000).toFixed(1)} s`)
  return wrong
}

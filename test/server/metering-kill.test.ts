/** SIGKILL: of what was counted, no more than the window that is open is lost, and nothing is counted twice. */
// database: sqlite, the file is what is killed over
import { join } from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { temporaryFolder } from '../support/database-kinds.ts'
import { type SpawnedServer, spawnServer } from '../support/spawn-server.ts'

const ROUNDS = 3
const KEPT = 30
const AT_RISK = 10
const folder = temporaryFolder()
test.after(() => folder.remove())

const read = async ({ base }: SpawnedServer, count: number): Promise<void> => {
  await Promise.all(Array.from({ length: count }, async () => (await fetch(`${base}/Patient/none`)).arrayBuffer()))
}

/** Asking for it keeps what was counted before. */
const readsIn = async ({ base }: SpawnedServer): Promise<number> => {
  const { usage } = (await (await fetch(`${base}/_usage?class=read`)).json()) as { usage: { requests: number }[] }
  return usage.reduce((sum, { requests }) => sum + requests, 0)
}

test('usage that was kept outlives a killed server, and what was not is less than a window', async () => {
  const path = join(folder.path, 'usage.sqlite')
  let least = 0
  let most = 0
  for (let round = 0; round < ROUNDS; round += 1) {
    const server = await spawnServer(path, { plugins: ['metering'] })
    await read(server, KEPT)
    const kept = await readsIn(server)
    assert.ok(kept >= least + KEPT && kept <= most + KEPT, `${kept} of ${least + KEPT} to ${most + KEPT}`)
    await read(server, AT_RISK)
    await server.kill()
    least = kept
    most = kept + AT_RISK
  }
  const server = await spawnServer(path, { plugins: ['metering'] })
  const after = await readsIn(server)
  assert.ok(after >= least && after <= most, `${after} of ${least} to ${most}`)
  await server.kill()
})

test.run()

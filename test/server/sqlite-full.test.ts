/** A SQLite file that cannot grow: writes are refused cleanly, reads go on, nothing acknowledged is lost. */
// database: sqlite, because it is what is full
import { join } from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { temporaryFolder } from '../support/database-kinds.ts'
import { spawnServer } from '../support/spawn-server.ts'

const BLOCKS = 8_192 // of 1,024 or 512 bytes, as the shell counts: files of some megabytes

const create = async (base: string, payload: string): Promise<Response> =>
  fetch(`${base}/Patient`, { method: 'POST', headers: { 'content-type': 'application/fhir+json' }, body: payload })

test('when the file cannot grow a write is 507, reads and /livez stay 200, and a start with room has everything', async () => {
  const folder = temporaryFolder()
  const path = join(folder.path, 'full.sqlite')
  const server = await spawnServer(path, { blocks: BLOCKS })
  // Text that does not pack, so that the file fills quickly.
  const noise = (): string => Array.from({ length: 4_000 }, () => Math.random().toString(36).slice(2)).join(' ')
  const kept: string[] = []
  let refused: Response | undefined
  for (let n = 0; n < 1_000 && refused === undefined; n += 1) {
    const answer = await create(server.base, JSON.stringify({ resourceType: 'Patient', name: [{ text: noise() }] }))
    if (answer.status === 201) kept.push(((await answer.json()) as { id: string }).id)
    else refused = answer
  }
  assert.is(refused?.status, 507)
  const outcome = (await refused?.json()) as { issue: { code: string }[] }
  assert.is(outcome.issue[0]?.code, 'no-store')
  assert.ok(kept.length > 0)
  assert.is((await fetch(`${server.base}/livez`)).status, 200)
  assert.is((await fetch(`${server.base}/Patient/${kept[0]}`)).status, 200)
  // A search has to see what was stored last, which waits for room; it stores nothing itself, and does not say so.
  const search = await fetch(`${server.base}/Patient?_count=2`)
  const told = await search.text()
  assert.ok(search.status === 200 || (search.status === 507 && /Reading by id goes on/.test(told)), told.slice(0, 300))
  await server.kill()
  const again = await spawnServer(path)
  for (const id of kept) assert.is((await fetch(`${again.base}/Patient/${id}`)).status, 200)
  assert.is((await create(again.base, '{"resourceType":"Patient"}')).status, 201)
  await again.kill()
  folder.remove()
})

test.run()

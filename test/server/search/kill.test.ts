/** SIGKILL during writes: the restarted server finds by search what it acknowledged, by current values and no others. */
// database: sqlite, the file is what is killed over
import { join } from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { temporaryFolder } from '../../support/database-kinds.ts'
import { onCopy } from '../../support/on-copy.ts'
import { type SpawnedServer, spawnServer } from '../../support/spawn-server.ts'

const ROUNDS = 4
const CREATORS = 6
const OPTIONS = { plugins: ['search-definitions'] }
const folder = temporaryFolder()
test.after(() => folder.remove())

const send = async (url: string, method: string, body: object): Promise<Response> =>
  fetch(url, { method, headers: { 'content-type': 'application/fhir+json' }, body: JSON.stringify(body) })

interface Known {
  /** Names of patients → their ids. */
  readonly created: Map<string, string>
  /** The value that was acknowledged last, and what has been sent since. */
  held: string
  sent: string
  /** Values that were replaced for certain. */
  readonly replaced: string[]
}

const create = async ({ base }: SpawnedServer, name: string, known: Known): Promise<void> => {
  const words = { status: 'generated', div: `<div xmlns="http://www.w3.org/1999/xhtml">word${name}</div>` }
  const made = await send(`${base}/Patient`, 'POST', { resourceType: 'Patient', text: words, name: [{ family: name }] })
  if (made.status === 201) known.created.set(name, ((await made.json()) as { id: string }).id)
}

const update = async ({ base }: SpawnedServer, known: Known): Promise<void> => {
  const value = `v${Math.random()}`
  known.sent = value
  const identifier = [{ system: 'http://example.org/v', value }]
  const answer = await send(`${base}/Patient/u`, 'PUT', { resourceType: 'Patient', id: 'u', identifier })
  assert.ok(answer.ok, await answer.text())
  known.replaced.push(known.held)
  known.held = value
}

/** Until the server is gone. */
const until = async (work: () => Promise<void>): Promise<void> => {
  try {
    for (;;) await work()
  } catch {
    // Killed.
  }
}

const idsOf = async (url: string): Promise<readonly string[]> => {
  const bundle = (await (await fetch(url)).json()) as { entry?: { resource: { id: string } }[] }
  return (bundle.entry ?? []).map(({ resource }) => resource.id)
}

const check = async (base: string, known: Known): Promise<void> => {
  for (const [name, id] of known.created) {
    assert.equal(await idsOf(`${base}/Patient?family:exact=${name}`), [id], `acknowledged ${name}`)
    assert.equal(await idsOf(`${base}/Patient?_text=word${name}`), [id], `words of ${name}`)
  }
  known.created.clear()
  const find = (value: string): Promise<readonly string[]> => idsOf(`${base}/Patient?identifier=${value}`)
  // What was sent last may have been stored and not acknowledged.
  const [held, sent] = [await find(known.held), await find(known.sent)]
  assert.equal([...new Set([...held, ...sent])], ['u'])
  assert.ok(known.held === known.sent || held.length + sent.length === 1, 'one value is current')
  for (const value of known.replaced.splice(0)) assert.equal(await find(value), [], 'replaced')
  if (held.length === 0) known.held = known.sent
}

test(`killed ${ROUNDS} times, the server finds all it acknowledged, and by current values alone`, async () => {
  const path = join(folder.path, 'kill.sqlite')
  const start = (): Promise<SpawnedServer> => spawnServer(path, OPTIONS)
  const known: Known = { created: new Map(), held: '', sent: '', replaced: [] }
  for (let round = 0; round < ROUNDS; round += 1) {
    const server = await start()
    const enough = 40 + ((round * 37) % 100)
    let count = 0
    try {
      await update(server, known)
      known.replaced.length = 0
      const creators = Array.from({ length: CREATORS }, (_, creator) =>
        until(async () => {
          await create(server, `r${round}c${creator}n${count}`, known)
          count += 1
          if (count === enough) void server.kill()
        }),
      )
      // In every other round nothing is updated, which would put rows in place.
      if (round % 2 === 0) creators.push(until(() => update(server, known)))
      await Promise.all(creators)
    } finally {
      await server.kill()
    }
    assert.ok(known.created.size >= enough / 2, `round ${round} created ${known.created.size}`)
    await onCopy(path, (base) => check(base, known), OPTIONS)
  }
})

test.run()

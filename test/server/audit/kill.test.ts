/** SIGKILL during writes: every change that was acknowledged has its event, and the chain holds. KILLS=100 kills more often. */
// database: sqlite, the file is what is killed over
import { join } from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { temporaryFolder } from '../../support/database-kinds.ts'
import { createHttpClient, type HttpClient } from '../../support/http-client.ts'
import { onCopy } from '../../support/on-copy.ts'
import { spawnServer } from '../../support/spawn-server.ts'
import { KEY } from './audited.ts'

const ROUNDS = Number(process.env.KILLS ?? 4)
const WRITERS = 8
const folder = temporaryFolder()
test.after(() => folder.remove())

const send = (client: HttpClient, method: string, url: string, body: object) =>
  client.send(method, url, { headers: { 'content-type': 'application/fhir+json' }, body: JSON.stringify(body) })

/** `Type/id/_history/version` of what was acknowledged, until the server is gone. */
const write = async (
  client: HttpClient,
  writer: number,
  known: Set<string>,
  onAcknowledged: () => void,
): Promise<void> => {
  for (;;) {
    try {
      const created = await send(client, 'POST', '/Patient', { resourceType: 'Patient', active: true })
      if (created.status === 201) known.add(`Patient/${(JSON.parse(created.text) as { id: string }).id}/_history/1`)
      const id = `w${writer}`
      const updated = await send(client, 'PUT', `/Basic/${id}`, {
        resourceType: 'Basic',
        id,
        code: { text: String(known.size) },
      })
      const { meta } = JSON.parse(updated.text) as { meta: { versionId: string } }
      if (updated.status < 300) known.add(`Basic/${id}/_history/${meta.versionId}`)
      await client.send('GET', `/Basic/${id}`)
      onAcknowledged()
    } catch {
      return
    }
  }
}

interface Event {
  readonly outcome: string
  readonly entity: readonly {
    readonly role?: { readonly code: string }
    readonly what?: { readonly reference: string }
  }[]
}

test(`killed ${ROUNDS} times during concurrent writes, the trail has every change that was acknowledged and is not broken`, async () => {
  const path = join(folder.path, 'kill.sqlite')
  const options = { plugins: ['audit'], settings: { audit: { key: KEY } } }
  const known = new Set<string>()
  for (let round = 0; round < ROUNDS; round += 1) {
    const server = await spawnServer(path, options)
    const client = createHttpClient(server.base)
    let acknowledged = 0
    // A different moment in each round, in the middle of whatever the other writers are doing.
    const enough = 5 + ((round * 7) % 20)
    const writers = Array.from({ length: WRITERS }, (_, writer) =>
      write(client, writer, known, () => {
        acknowledged += 1
        if (acknowledged === enough) void server.kill()
      }),
    )
    await Promise.all(writers)
    client.close()
    assert.ok(acknowledged >= enough, `round ${round} wrote ${acknowledged} times`)
  }
  await onCopy(
    path,
    async (base) => {
      const verdict = (await (await fetch(`${base}/_audit/verify`)).json()) as { ok: boolean; checked: number }
      assert.is(verdict.ok, true, JSON.stringify(verdict))
      assert.ok(verdict.checked >= known.size)
      const lines = await (await fetch(`${base}/_audit?action=C,U&outcome=0&_format=ndjson`)).text()
      const audited = new Set(
        lines
          .trimEnd()
          .split('\n')
          .map((line) => (JSON.parse(line) as Event).entity.find(({ role }) => role?.code === '4')?.what?.reference),
      )
      for (const one of known) assert.ok(audited.has(one), `${one} was acknowledged`)
    },
    options,
  )
})

test.run()

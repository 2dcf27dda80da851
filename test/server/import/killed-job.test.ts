/** $import whose server is killed in the middle: the next one goes on, and each record is stored once. */
// database: sqlite and postgres, which outlive the process
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import importing from '../../../plugins/import/index.ts'
import jobs from '../../../plugins/jobs/index.ts'
import { chosenKind, temporaryFolder } from '../../support/database-kinds.ts'
import { basic } from '../../support/server-with.ts'
import { type SpawnedServer, spawnServer } from '../../support/spawn-server.ts'
import { until } from '../../support/until.ts'
import { type Json, lines, patient, toParameters } from './import-clinic.ts'

const RECORDS = 1_500

test('an import goes on in another process behind what was stored', async () => {
  const place = temporaryFolder()
  const path = join(place.path, 'Patient.ndjson')
  const all = Array.from({ length: RECORDS }, (_, at) =>
    at % 500 === 7 ? '{"resourceType":"Patient","nonsense":' : patient(undefined, { identifier: [{ value: `${at}` }] }),
  )
  writeFileSync(path, lines(...all))
  const fresh = await chosenKind.migrated([...basic, jobs, importing])
  const start = (): Promise<SpawnedServer> =>
    spawnServer(fresh.settings, { plugins: ['jobs', 'import'], settings: { import: { sources: [place.path] } } })
  let server = await start()
  const ask = async (way: string): Promise<Json> => (await fetch(`${server.base}${way}`)).json() as Promise<Json>
  const total = async (): Promise<number> => (await ask('/Patient?_summary=count')).total
  const begun = await fetch(`${server.base}/$import`, {
    method: 'POST',
    headers: { 'content-type': 'application/fhir+json' },
    body: JSON.stringify(toParameters([{ type: 'Patient', url: pathToFileURL(path).href }])),
  })
  assert.is(begun.status, 202, await begun.text())
  const job = new URL(begun.headers.get('content-location') as string).pathname
  for (const stored of [150, 600]) {
    await until(async () => (await total()) >= stored, 30_000, `${stored} resources`)
    await server.kill()
    server = await start()
  }
  let manifest: Json = {}
  await until(
    async () => {
      const answer = await fetch(`${server.base}${job}`)
      const text = await answer.text()
      if (answer.status === 200) manifest = JSON.parse(text) as Json
      else assert.ok(answer.status === 202 || answer.status === 429, text)
      return answer.status === 200
    },
    60_000,
    'the import to end',
  )
  const refused = RECORDS / 500
  assert.is(manifest.output[0].count, RECORDS - refused)
  assert.is(manifest.error[0].count, refused)
  assert.is(await total(), RECORDS - refused)
  const errors = await (await fetch(manifest.error[0].url.replace(/^https?:\/\/[^/]+/, server.base))).text()
  assert.is(errors.trim().split('\n').length, refused)
  await server.kill()
  await fresh.remove()
  place.remove()
})

test.run()

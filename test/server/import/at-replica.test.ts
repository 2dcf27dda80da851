/** $import at a replica: the primary takes it, works on it, and answers for it. */
// database: postgres, the one kind that several processes share
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { temporaryFolder } from '../../support/database-kinds.ts'
import { freshWith, type Json, primaryHere, replicaHere, send, whenSays } from '../../support/replica-servers.ts'
import { until } from '../../support/until.ts'
import { lines, patient, toParameters } from './import-clinic.ts'

test('kick-off, status, errors and deletion are sent on', async () => {
  const fresh = await freshWith(['jobs', 'import'])
  const place = temporaryFolder()
  const options = { plugins: ['jobs', 'import'], settings: { import: { sources: [place.path] } } }
  const primary = await primaryHere(fresh, options)
  const replica = await replicaHere(fresh, primary.base, options)
  await whenSays(replica, 'ok')
  const path = join(place.path, 'Patient.ndjson')
  writeFileSync(path, lines(patient('a'), '{', patient('b')))
  const begun = await fetch(`${replica.base}/$import`, {
    method: 'POST',
    headers: { 'content-type': 'application/fhir+json' },
    body: JSON.stringify(toParameters([{ type: 'Patient', url: pathToFileURL(path).href }])),
  })
  assert.is(begun.status, 202, await begun.text())
  const job = new URL(begun.headers.get('content-location') as string).pathname
  let manifest: Json = {}
  await until(
    async () => {
      const { status, json } = await send(replica, 'GET', job)
      manifest = json
      return status === 200
    },
    30_000,
    'the import to end',
  )
  assert.equal([manifest.output[0].count, manifest.error[0].count], [2, 1])
  const { status, text } = await send(replica, 'GET', `${job}/errors`)
  assert.is(status, 200)
  assert.match(text, /Patient\.ndjson:2: /)
  await until(async () => (await send(replica, 'GET', '/Patient/b')).status === 200, 10_000, 'the replica to show it')
  assert.is((await send(replica, 'DELETE', job)).status, 202)
  assert.is((await send(replica, 'GET', job)).status, 404)
  await replica.stop()
  await primary.stop()
  await fresh.remove()
  place.remove()
})

test.run()

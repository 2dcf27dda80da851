/** `sqlite_mmap_size`: whether reads of the SQLite file go through mapped memory. What they answer is the same. */
// database: sqlite, because it is what is mapped
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { temporaryFolder } from '../support/database-kinds.ts'
import { serverWith } from '../support/server-with.ts'

const MAPS = '/proc/self/maps'

/** Is the file itself mapped by this process? The index of its log always is. */
const isMapped = (path: string): boolean =>
  readFileSync(MAPS, 'utf8')
    .split('\n')
    .some((line) => line.endsWith(` ${path}`))

const weight = '{"resourceType":"Observation","status":"final","code":{"text":"w"},"valueQuantity":{"value":70.00}}'

test('with sqlite_mmap_size the file is read from mapped memory, with 0 it is not, and both answer the stored bytes', async () => {
  if (!existsSync(MAPS)) return
  const folder = temporaryFolder()
  const path = join(folder.path, 'mapped.sqlite')
  const headers = { 'content-type': 'application/fhir+json' }
  let id = ''
  for (const size of [{}, { sqlite_mmap_size: 0 }, {}]) {
    const server = await serverWith({ settings: { database: { kind: 'sqlite', sqlite_path: path, ...size } } })
    if (id === '') {
      const created = await server.inject({ method: 'POST', url: '/Observation', headers, payload: weight })
      id = created.json().id
    } else {
      const answer = await server.inject({ method: 'GET', url: `/Observation/${id}` })
      assert.match(answer.body, '"value":70.00')
      assert.is(isMapped(path), size.sqlite_mmap_size !== 0)
    }
    await server.stop()
  }
  folder.remove()
})

test.run()

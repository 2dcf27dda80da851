/** Texts are compared without case, whatever forms a letter has. https://www.unicode.org/Public/UCD/latest/ucd/CaseFolding.txt */
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import database from '../../../plugins/database/index.ts'
import { Database, sql } from '../../../plugins/database/service.ts'
import { chosenKind } from '../../support/database-kinds.ts'
import { fhirPlugins } from '../../support/fhir-plugins.ts'
import { searchDefinitions } from '../../support/search-definitions.ts'
import { serverWith, type TestServer } from '../../support/server-with.ts'

const plugins = [database, searchDefinitions(), ...fhirPlugins]
const headers = { 'content-type': 'application/fhir+json' }

const post = async (server: TestServer, family: string): Promise<void> => {
  const payload = JSON.stringify({ resourceType: 'Patient', name: [{ family }] })
  const answer = await server.inject({ method: 'POST', url: '/Patient', headers, payload })
  assert.is(answer.statusCode, 201, answer.body)
}
const count = async (server: TestServer, query: string): Promise<number> => {
  const answer = await server.inject(`/Patient?${query}&_summary=count`)
  assert.is(answer.statusCode, 200, answer.body)
  return answer.json().total
}
const value = encodeURIComponent

/** A stored text, and what finds it. */
const TEXTS: readonly (readonly [stored: string, asked: readonly string[]])[] = [
  ['Οδυσσεύς', ['οδυς', 'ΟΔΥΣ', 'οδυσ', 'ΟΔΥΣΣΕΥΣ', 'οδυσσεύς']],
  ['Σ', ['ς', 'σ', 'Σ']],
  ['Straße', ['STRASSE', 'STRAẞE', 'strasse', 'ſtraſse']],
  ['İnci', ['inci', 'INCI', 'ıncı']],
  ['ﬁnch', ['FINCH', 'finch']],
  ['ℌaus™', ['haustm', 'HAUSTM']],
]

for (const [stored, asked] of TEXTS)
  test(`${stored} is found by ${asked.join(', ')}`, async () => {
    const server = await serverWith({ plugins })
    await post(server, stored)
    for (const one of asked) {
      assert.is(await count(server, `family=${value(one)}`), 1, one)
      assert.is(await count(server, `family:contains=${value(one)}`), 1, `contains ${one}`)
      assert.is(await count(server, `_filter=${value(`family sw "${one}"`)}`), 1, `filter ${one}`)
    }
    await server.stop()
  })

test('words are compared so as well', async () => {
  const server = await serverWith({ plugins })
  await post(server, 'Οδυσσεύς')
  for (const one of ['ΟΔΥΣΣΕΥΣ', 'οδυσσευς', 'οδυσσευσ'])
    assert.is(await count(server, `_content=${value(one)}`), 1, one)
  await server.stop()
})

test('what an earlier build has indexed is indexed anew by the start', async () => {
  if (chosenKind.name === 'memory') return
  const place = await chosenKind.fresh(plugins)
  const before = await serverWith({ plugins, settings: place.settings })
  await post(before, 'Οδυσσεύς')
  await before.get(Database).transact(async (transaction) => {
    await transaction.run(sql('test.earlier-text', "UPDATE ix_str SET val = replace(val, 'σ', 'ς')"), [])
    await transaction.run(sql('test.earlier-step', "DELETE FROM migration WHERE name = 'fhir/0009-folded-texts'"), [])
  })
  assert.is(await count(before, `family=${value('ΟΔΥΣ')}`), 0)
  await before.stop()
  const after = await serverWith({ plugins, settings: place.settings })
  assert.is(await count(after, `family=${value('ΟΔΥΣ')}`), 1)
  await after.stop()
  await place.remove()
})

test.run()

/** A database whose search index was made by an earlier build is indexed anew by the start, before the server is ready. */
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import database from '../../../plugins/database/index.ts'
import { Database, sql } from '../../../plugins/database/service.ts'
import { chosenKind } from '../../support/database-kinds.ts'
import { fhirPlugins } from '../../support/fhir-plugins.ts'
import { searchDefinitions } from '../../support/search-definitions.ts'
import { serverWith } from '../../support/server-with.ts'

const plugins = [database, searchDefinitions(), ...fhirPlugins]
const headers = { 'content-type': 'application/fhir+json' }

/** The tables as they were, without a row. */
const EARLIER = (real: string, text: string): readonly string[] => [
  'DROP TABLE ix_qty',
  `CREATE TABLE ix_qty (param integer NOT NULL, lo ${real} NOT NULL, hi ${real} NOT NULL, code bigint NOT NULL, sys integer NOT NULL, unit integer NOT NULL, rid bigint NOT NULL, PRIMARY KEY (param, lo, hi, code, sys, unit, rid))`,
  'CREATE INDEX ix_qty_rid ON ix_qty (rid, param)',
  'DROP TABLE ix_comp',
  `CREATE TABLE ix_comp (param integer NOT NULL, val bigint NOT NULL, sys integer NOT NULL, lo ${real} NOT NULL, hi ${real} NOT NULL, val2 bigint NOT NULL, sys2 integer NOT NULL, lo2 ${real} NOT NULL, hi2 ${real} NOT NULL, txt ${text} NOT NULL, rid bigint NOT NULL, PRIMARY KEY (param, val, sys, rid, lo, hi, val2, sys2, lo2, hi2, txt))`,
  'DROP TABLE ix_text',
  `CREATE TABLE ix_text (param integer NOT NULL, txt ${text} NOT NULL, val bigint NOT NULL)`,
  "DELETE FROM migration WHERE name = 'fhir/0007-exact-values'",
]

test('searches find what was stored before, by all digits and characters', async () => {
  if (chosenKind.name === 'memory') return
  const place = await chosenKind.fresh(plugins)
  const before = await serverWith({ plugins, settings: place.settings })
  const long = `${'x'.repeat(120)}a`
  const values = ['5.35', '66.899999999999991', '66.899999999999992']
  for (const value of values) {
    const answer = await before.inject({
      method: 'POST',
      url: '/Observation',
      headers,
      payload: `{"resourceType":"Observation","status":"final","code":{"coding":[{"system":"http://l","code":"c","display":"${long}"}]},"valueQuantity":{"value":${value}},"contained":[{"resourceType":"Patient","id":"p","name":[{"family":"Inside"}]}],"subject":{"reference":"#p"}}`,
    })
    assert.is(answer.statusCode, 201, answer.body)
  }
  const texts = chosenKind.name === 'sqlite' ? EARLIER('real', 'text') : EARLIER('double precision', 'text COLLATE "C"')
  await before.get(Database).transact(async (transaction) => {
    for (const [at, text] of texts.entries()) await transaction.run(sql(`test.earlier-${at}`, text), [])
  })
  await before.stop()

  const after = await serverWith({ plugins, settings: place.settings })
  const count = async (query: string): Promise<number> => {
    const answer = await after.inject(`/${query}&_summary=count`)
    assert.is(answer.statusCode, 200, answer.body)
    return answer.json().total
  }
  for (const value of values) {
    assert.is(await count(`Observation?value-quantity=${value}`), 1, value)
    assert.is(await count(`Observation?code-value-quantity=http://l|c$${value}`), 1, value)
  }
  assert.is(await count(`Observation?code:text=${long}`), 3)
  assert.is(await count(`Observation?code:text=${long}b`), 0)
  assert.is(await count('Observation?code=http://l|c&status=final'), 3)
  assert.is(await count('Observation?code:missing=true'), 0)
  assert.is(await count('Patient?family=inside&_contained=true&_containedType=contained'), 3)
  await after.stop()
  await place.remove()
})

test.run()

/** Questions of everyday care on a population, each answer compared with one worked out from the records themselves. */
// npm test: sqlite and postgres, whose statements differ
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import database from '../../../plugins/database/index.ts'
import { generatePopulation } from '../../bench/corpus/generated-population.ts'
import { createDice } from '../../bench/corpus/random.ts'
import { checkQuestions } from '../../clinical/check.ts'
import { loadRecords } from '../../clinical/load.ts'
import { createQuestions } from '../../clinical/questions.ts'
import { fhirPlugins } from '../../support/fhir-plugins.ts'
import { serverWith } from '../../support/server-with.ts'
import { stubDefinitions } from '../../support/stub-definitions.ts'

test('every question has the answer that the records give, and a wrong record is noticed', async () => {
  const server = await serverWith({ plugins: [database, stubDefinitions('all'), ...fhirPlugins] })
  try {
    const records = await loadRecords(server, generatePopulation(createDice(7), 12))
    const questions = createQuestions(records)
    const checked = await checkQuestions(server, questions)
    assert.equal(
      checked.flatMap(({ wrong }) => wrong),
      [],
    )
    assert.ok(questions.length > 150, `${questions.length} questions`)
    assert.ok(checked.every(({ resources, kind }) => resources > 0 || /medications|component/.test(kind)))
    // A record the server does not have, and one it has changed: each shows in the answers.
    const [ill] = records.filter(({ resourceType }) => resourceType === 'Condition')
    const other = [...records, { ...ill, id: 'invented' }].map((one) =>
      one.resourceType === 'Patient' && one.gender === 'male' ? { ...one, gender: 'female' } : one,
    )
    const noticed = await checkQuestions(server, createQuestions(other))
    const kinds = noticed.filter(({ wrong }) => wrong.length > 0).map(({ kind }) => kind)
    for (const kind of ['active conditions', 'abnormal values of women', 'a compartment'])
      assert.ok(
        kinds.some((one) => one.startsWith(kind)),
        kind,
      )
  } finally {
    await server.stop()
  }
})

test.run()

/**
 * `npm run check:clinical -- <folder or archive of transaction Bundles> [--kind sqlite|memory|postgres]`: loads a
 * population such as Synthea's, asks questions of everyday care, and compares every answer with the records themselves.
 */
import { parseArgs } from 'node:util'
import database from '../../plugins/database/index.ts'
import { readPopulation } from '../bench/corpus/population.ts'
import { databaseKinds } from '../support/database-kinds.ts'
import { fhirPlugins } from '../support/fhir-plugins.ts'
import { serverWith } from '../support/server-with.ts'
import { stubDefinitions } from '../support/stub-definitions.ts'
import { checkQuestions } from './check.ts'
import { loadRecords } from './load.ts'
import { createQuestions } from './questions.ts'

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { kind: { type: 'string', default: 'sqlite' } },
})
const [path] = positionals
const kind = databaseKinds().find(({ name }) => name === values.kind)
if (path === undefined || kind === undefined) {
  console.error('npm run check:clinical -- <folder, .tar, .tar.gz or .tar.zst> [--kind sqlite|memory|postgres]')
  process.exit(2)
}
const own = await kind.fresh()
const server = await serverWith({ plugins: [database, stubDefinitions('all'), ...fhirPlugins], settings: own.settings })
let wrong = 0
try {
  const bundles = await readPopulation(path)
  const started = performance.now()
  const records = await loadRecords(server, bundles)
  const patients = records.filter(({ resourceType }) => resourceType === 'Patient').length
  const seconds = (performance.now() - started) / 1000
  console.log(`${kind.name}: ${records.length} resources of ${patients} patients in ${seconds.toFixed(1)} s`)
  const checked = await checkQuestions(server, createQuestions(records))
  for (const one of checked) {
    console.log(
      `${one.wrong.length === 0 ? 'ok  ' : 'FAIL'} ${one.kind}: ${one.asked} asked, ${one.resources} resources, ${(one.milliseconds / one.asked).toFixed(1)} ms each`,
    )
    for (const line of one.wrong.slice(0, 5)) console.log(`     ${line}`)
    wrong += one.wrong.length
  }
  const asked = checked.reduce((sum, one) => sum + one.asked, 0)
  console.log(`${asked} searches, ${wrong} wrong`)
} finally {
  await server.stop()
  await own.remove()
}
process.exit(wrong > 0 ? 1 : 0)

/** SearchParameters that are posted while a thread works on a large body do not keep the body out. */
// database: sqlite and postgres, because in memory the same statements run as on a file
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { definePlugin } from '../../../kernel/index.ts'
import database from '../../../plugins/database/index.ts'
import { Fhir } from '../../../plugins/fhir/service.ts'
import { chosenKind } from '../../support/database-kinds.ts'
import { fhirPlugins } from '../../support/fhir-plugins.ts'
import { createManualClock } from '../../support/manual-clock.ts'
import { serverWith, type TestServer } from '../../support/server-with.ts'
import { stubDefinitions } from '../../support/stub-definitions.ts'

const LONG_MS = 4_000 // longer than a change waits for the locks of others
const HEADERS = { 'content-type': 'application/fhir+json' }

const DEFINITIONS = [
  ...['Patient', 'Observation', 'SearchParameter', 'Element', 'Extension', 'Reference', 'Identifier', 'HumanName'],
  ...['Narrative', 'Meta', 'Coding', 'CodeableConcept', 'ContactDetail', 'ContactPoint', 'UsageContext', 'Annotation'],
]

const clock = createManualClock()
let server: TestServer
let attempts = 0
/** What happens between the work of the thread and the transaction, at each attempt. */
let meanwhile: () => Promise<void> = async () => undefined
const between = definePlugin({
  name: 'between',
  needs: { fhir: Fhir },
  setup({ needs: { fhir } }) {
    fhir.check({
      name: 'between',
      type: 'Patient',
      async checkContent() {
        attempts += 1
        await meanwhile()
      },
    })
  },
})
const post = (url: string, resource: Record<string, unknown>) =>
  server.inject({ method: 'POST', url, headers: HEADERS, payload: JSON.stringify(resource) })
let posted = 0
const postParameter = async (base: string, expression: string): Promise<void> => {
  posted += 1
  const code = `own-${posted}`
  const { statusCode, body } = await post('/SearchParameter', {
    resourceType: 'SearchParameter',
    url: `http://parameters.example/${code}`,
    name: code,
    code,
    status: 'active',
    description: code,
    base: [base],
    type: 'string',
    expression,
  })
  assert.is(statusCode, 201, body)
}

test.before(async () => {
  server = await serverWith({
    plugins: [database, stubDefinitions(DEFINITIONS, /^SearchParameter-Resource-/), ...fhirPlugins, between],
    clock,
    settings: { fhir: { large_body_bytes: 0 } },
  })
})
test.after(() => server.stop())
test.before.each(() => {
  attempts = 0
})

test('one of another type changes nothing for it: the thread works once', async () => {
  meanwhile = () => postParameter('Observation', `Observation.note.text.where($this = '${posted}')`)
  const { statusCode, body } = await post('/Patient', { resourceType: 'Patient', name: [{ family: 'Other' }] })
  assert.is(statusCode, 201, body)
  assert.is(attempts, 1)
})

test('for one of its type the thread works again, however long that takes, and the new rows are there', async () => {
  meanwhile = async () => {
    clock.advance(LONG_MS)
    if (attempts < 3) await postParameter('Patient', `Patient.name.text.where($this = '${posted}')`)
    if (attempts === 3) await postParameter('Patient', 'Patient.name.given.first()')
  }
  const { statusCode, body } = await post('/Patient', {
    resourceType: 'Patient',
    name: [{ family: 'Own', given: ['Given'] }],
  })
  assert.is(statusCode, 201, body)
  assert.ok(attempts > 1 && attempts <= 10, String(attempts))
  const found = await server.inject({ method: 'GET', url: `/Patient?own-${posted}=Given` })
  assert.is(found.json().entry?.length, 1, found.body)
})

// The attempts are counted in the process; that the database undoes one and takes the next is tested above.
if (chosenKind.name !== 'postgres')
  test('after ten times it is refused', async () => {
    meanwhile = () => postParameter('Patient', `Patient.name.text.where($this = '${posted}')`)
    const { statusCode } = await post('/Patient', { resourceType: 'Patient', name: [{ family: 'Refused' }] })
    assert.is(statusCode, 409)
    assert.is(attempts, 10)
  })

test.run()

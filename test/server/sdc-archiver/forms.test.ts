/** Operations of forms, and resources that name what was archived: neither shows it, nor whether it was ever there. */
// database: sqlite, because forms ask by sessions, which sdc-archiver/leaks.test.ts holds against what is stored on each kind
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import sdc from '../../../plugins/sdc/index.ts'
import { sdcPackage } from '../../support/sdc-server.ts'
import { serverWith } from '../../support/server-with.ts'
import type { Asked, Json } from '../access/worlds.ts'
import { type Archive, archivePluginsWith, archiveSettings, openArchives, response, SECRET, toAsk } from './archives.ts'

const TYPE = 'QuestionnaireResponse'
const HIDDEN = `${TYPE}/hidden`
const SDC = 'http://hl7.org/fhir/uv/sdc/StructureDefinition/sdc-questionnaire-'
const QUERIES = [
  `${TYPE}?subject=Patient/p`,
  `${TYPE}?_id=hidden`,
  HIDDEN,
  `${TYPE}/second`,
  'Task?_include=Task:focus',
]

let archives: readonly Archive[] = []

const expression = (language: string, text: string, name?: string): Json => ({
  valueExpression: { language, expression: text, ...(name !== undefined && { name }) },
})
const item = (linkId: string, ...extension: readonly Json[]): Json => ({
  linkId,
  type: 'string',
  text: linkId,
  extension,
})
/** Each query fills an item with what it finds, and another one with how much that is. */
const form = (): Json => ({
  ...{ resourceType: 'Questionnaire', url: 'http://forms.example/read', status: 'active' },
  extension: QUERIES.map((query, n) => ({
    url: 'http://hl7.org/fhir/StructureDefinition/variable',
    ...expression('application/x-fhir-query', query, `found${n}`),
  })),
  item: QUERIES.flatMap((_query, n) => [
    item(`text${n}`, {
      url: `${SDC}initialExpression`,
      ...expression('text/fhirpath', `%found${n}.descendants().where(linkId.exists()).answer.value.first()`),
    }),
    item(`total${n}`, {
      url: `${SDC}initialExpression`,
      ...expression('text/fhirpath', `%found${n}.total.toString() | %found${n}.entry.count().toString()`),
    }),
  ]),
})
const populate = (...parameter: readonly Json[]): Asked => ({
  method: 'POST',
  url: '/Questionnaire/$populate',
  body: {
    resourceType: 'Parameters',
    parameter: [
      { name: 'questionnaire', resource: form() },
      { name: 'subject', valueReference: { reference: 'Patient/p' } },
      { name: 'local', valueBoolean: true },
      ...parameter,
    ],
  },
})
const launched = (content: Json): Asked =>
  populate({
    name: 'context',
    part: [
      { name: 'name', valueString: 'found0' },
      { name: 'content', ...content },
    ],
  })

const REFERRING: readonly Json[] = [
  { resourceType: 'Task', id: 't', status: 'requested', intent: 'order', focus: { reference: HIDDEN } },
  {
    ...{ resourceType: 'Provenance', id: 'v', recorded: '2024-01-01T00:00:00Z' },
    ...{ target: [{ reference: HIDDEN }], agent: [{ who: { display: 'x' } }] },
  },
]
const ASKED: readonly Asked[] = [
  { method: 'GET', url: `/${HIDDEN}/$extract` },
  { method: 'POST', url: `/${HIDDEN}/$extract`, body: { resourceType: 'Parameters' } },
  populate(),
  launched({ valueReference: { reference: HIDDEN } }),
  ...[
    '/Task?_include=Task:focus',
    '/Task?_include=*',
    '/Task?focus=QuestionnaireResponse/hidden',
    '/Task?focus:QuestionnaireResponse.status=completed',
    '/Task?focus.identifier=x',
    '/Task/t',
    '/Provenance?target=QuestionnaireResponse/hidden&_include=Provenance:target',
    '/Provenance?target:QuestionnaireResponse.subject=Patient/p',
    '/Patient?_has:QuestionnaireResponse:subject:_has:Task:focus:status=requested',
    '/Questionnaire/$questionnaire-package?canonical=http://q/x',
  ].map((url): Asked => ({ method: 'GET', url: encodeURI(url) })),
]
/** Without what differs between any two answers. */
const plain = (text: string): string =>
  text
    .replaceAll(/"(?:lastUpdated|timestamp|authored|date)": ?"[^"]*"/g, '')
    .replaceAll(/[0-9a-f]{8}-[0-9a-f-]{27}/g, '')
    .replaceAll(/"url": ?"[^"]*"/g, '')

test.before(async () => {
  archives = await openArchives([sdc], {}, archivePluginsWith(sdcPackage()))
  for (const { ask } of archives)
    for (const one of REFERRING) {
      const { status, text } = await ask({ method: 'PUT', url: `/${one.resourceType}/${one.id}`, body: one })
      assert.ok(status < 300, text)
    }
})
test.after(async () => {
  for (const { server } of archives) await server.stop()
})

for (const asked of ASKED)
  test(`${asked.method} ${asked.url} ${JSON.stringify(asked.body ?? '').slice(-60)}`, async () => {
    const answers = await Promise.all(archives.map(({ ask }) => ask(asked)))
    for (const { status, text } of answers) {
      assert.ok(status < 500, text)
      assert.not.match(text, SECRET)
      assert.is(`${status} ${plain(text)}`, `${answers[0]?.status} ${plain(answers[0]?.text ?? '')}`)
    }
  })

test('without the archiver the same queries find the responses', async () => {
  const plugins = [...archivePluginsWith(sdcPackage()), sdc]
  const server = await serverWith({ plugins, settings: archiveSettings({ features: { sdc_archiver: false } }) })
  const ask = toAsk(server)
  const patient = { resourceType: 'Patient', id: 'p' }
  for (const one of [patient, response('hidden', { encounter: undefined }), ...REFERRING])
    await ask({ method: 'PUT', url: `/${one.resourceType}/${one.id}`, body: one })
  const { text } = await ask(populate())
  assert.match(text, SECRET)
  assert.match((await ask({ method: 'GET', url: '/Task?_include=Task:focus' })).text, SECRET)
  await server.stop()
})

test.run()

/** $import: what it takes, from where, for whom, and what its result says. */
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { scopedCallers } from '../../support/scoped-callers.ts'
import { type Answered, importClinic, type Json, lines, pathOf, patient, toParameters } from './import-clinic.ts'

const ALL = { scope: 'system/*.cruds' }
const observation = (id: string, more: Json = {}): Json => ({
  resourceType: 'Observation',
  id,
  status: 'final',
  code: { text: 'x' },
  ...more,
})
const isRefused = ({ status, json, text }: Answered, wanted: number, code: string): void => {
  assert.is(status, wanted, text)
  assert.is(json.issue[0].code, code, text)
}

test('without sources it is 501, which says how to enable it, and /metadata does not list it', async () => {
  const clinic = await importClinic({ isOff: true })
  for (const body of [
    toParameters([{ type: 'Patient', url: 'https://x.example/p' }]),
    { resourceType: 'Parameters' },
  ]) {
    const answer = await clinic.ask('POST', '/$import', body)
    isRefused(answer, 501, 'not-supported')
    assert.match(answer.text, /\[import\] sources/)
  }
  assert.not.match((await clinic.ask('GET', '/metadata')).text, /OperationDefinition\/import/)
  await clinic.stop()
})

test('files of a listed directory are stored under their ids; the result counts them and leads to what was refused', async () => {
  const clinic = await importClinic({ more: [scopedCallers] })
  const patients = clinic.write(
    'Patient.ndjson',
    lines(patient('a'), '', patient('b'), '{"resourceType":', patient(undefined), observation('wrong')),
  )
  const observations = clinic.write('Observation.ndjson', lines(observation('o1'), observation('o2')))
  const inputs = [
    { type: 'Patient', url: patients },
    { type: 'Observation', url: observations },
  ]
  const begun = await clinic.kickOff(inputs, ALL, [
    { name: 'inputSource', valueUri: 'https://elsewhere.example.org/fhir' },
    {
      name: 'storageDetail',
      part: [
        { name: 'type', valueCode: 'https' },
        { name: 'maxBatchResourceCount', valueString: '2' },
      ],
    },
  ])
  assert.is(begun.status, 202, begun.text)
  const job = begun.headers['content-location'] as string
  assert.match(job, /^http.*\/import\/[0-9a-f]{32}$/)
  const { status, headers, json, text } = await clinic.end(pathOf(job), ALL)
  assert.is(status, 200, text)
  assert.match(headers['content-type'], /^application\/json/)
  assert.ok(Date.parse(headers.expires) > Date.now())
  assert.equal(
    json.output.map(({ type, inputUrl, count }: Json) => [type, inputUrl, count]),
    [
      ['Patient', patients, 3],
      ['Observation', observations, 2],
    ],
  )
  assert.equal(
    json.error.map(({ type, inputUrl, count }: Json) => [type, inputUrl, count]),
    [['OperationOutcome', patients, 2]],
  )
  const errors = await clinic.errors(json.error[0].url, ALL)
  assert.equal(
    errors.map(({ resourceType, issue }) => `${resourceType} ${/:(\d+): /.exec(issue[0].diagnostics)?.[1]}`),
    ['OperationOutcome 4', 'OperationOutcome 6'],
  )
  assert.match(errors[0]?.issue[0].diagnostics, /^file:\/\/.*Patient\.ndjson:4: /)
  for (const url of ['/Patient/a', '/Patient/b', '/Observation/o2'])
    assert.is((await clinic.ask('GET', url, undefined, ALL)).status, 200, url)
  assert.is((await clinic.ask('GET', '/Patient?_summary=count', undefined, ALL)).json.total, 3)
  // The trail names each resource, and who imported it.
  const { text: trail } = await clinic.ask('GET', '/AuditEvent?_count=100', undefined, ALL)
  for (const one of ['Patient/a', 'Patient/b', 'Observation/o1']) assert.ok(trail.includes(one), one)
  assert.is((await clinic.ask('DELETE', pathOf(job), undefined, ALL)).status, 202)
  assert.is((await clinic.ask('GET', pathOf(job), undefined, ALL)).status, 404)
  assert.is((await clinic.ask('GET', '/Patient/a', undefined, ALL)).status, 200)
  await clinic.stop()
})

test('only listed hosts and directories are read, and no link leads out of one', async () => {
  const clinic = await importClinic({ sources: ['https://files.example.org/bucket/'] })
  const outside = new URL('../secret.ndjson', `file://${clinic.folder}/x`).href
  for (const url of [
    'https://other.example.org/bucket/p.ndjson',
    'https://files.example.org/p.ndjson',
    'https://files.example.org/bucket/../p.ndjson',
    'https://files.example.org/bucket/%2e%2e/p.ndjson',
    'https://files.example.org/bucket/..%2fp.ndjson',
    'https://files.example.org:8443/bucket/p.ndjson',
    'https://files.example.org.evil.example/bucket/p.ndjson',
    'file:///etc/passwd',
    outside,
    `file://${clinic.folder}`,
    `file://${clinic.folder}-other/p.ndjson`,
    `file://${clinic.folder}/%2e%2e/%2e%2e/etc/passwd`,
  ])
    isRefused(await clinic.kickOff([{ type: 'Patient', url }]), 403, 'forbidden')
  for (const url of [
    'http://files.example.org/bucket/p.ndjson',
    'ftp://files.example.org/p',
    'p.ndjson',
    '/etc/passwd',
    'https://user:word@files.example.org/bucket/p.ndjson',
    'file://host/etc/passwd',
    `file://${clinic.folder}/a%2fb`,
  ])
    isRefused(await clinic.kickOff([{ type: 'Patient', url }]), 400, 'value')
  const link = clinic.link('link.ndjson', '/etc/passwd')
  const { json } = await clinic.run([
    { type: 'Patient', url: link },
    { type: 'Patient', url: `${link}.missing` },
    { type: 'Patient', url: clinic.write('p.ndjson', lines(patient('p'))) },
  ])
  assert.equal(
    json.output.map(({ count }: Json) => count),
    [0, 0, 1],
  )
  assert.equal(
    json.error.map(({ count }: Json) => count),
    [1, 1],
  )
  const [refused] = await clinic.errors(json.error[0].url)
  assert.is(refused?.issue[0].code, 'forbidden')
  assert.not.match(JSON.stringify(refused), /root:/)
  await clinic.stop()
})

test('what it does not take is 400, and says what', async () => {
  const clinic = await importClinic()
  const url = clinic.write('p.ndjson', lines(patient('p')))
  const input = { type: 'Patient', url }
  for (const [inputs, more] of [
    [[], []],
    [[{ type: 'Pasient', url }], []],
    [[input, input], []],
    [[input], [{ name: 'nonsense', valueString: 'x' }]],
    [[input], [{ name: 'storageDetail', part: [{ name: 'type', valueCode: 'aws-s3' }] }]],
    [[input], [{ name: 'storageDetail', part: [{ name: 'credentialHttpBasic', valueString: 'a:b' }] }]],
    [[input], [{ name: 'storageDetail', part: [{ name: 'maxBatchResourceCount', valueString: '0' }] }]],
  ] as const)
    assert.is((await clinic.kickOff(inputs, {}, more)).status, 400, JSON.stringify([inputs, more]))
  const body = toParameters([input])
  body.parameter[0].valueCode = 'application/xml'
  isRefused(await clinic.ask('POST', '/$import', body), 400, 'not-supported')
  assert.is((await clinic.ask('GET', '/$import')).status, 400)
  assert.is((await clinic.ask('POST', '/Patient/$import', body)).status, 404)
  const bundle = {
    resourceType: 'Bundle',
    type: 'batch',
    entry: [{ resource: toParameters([input]), request: { method: 'POST', url: '$import' } }],
  }
  assert.match((await clinic.ask('POST', '/', bundle)).json.entry[0].response.status, /^400/)
  assert.is((await clinic.ask('GET', '/Patient?_summary=count')).json.total, 0)
  await clinic.stop()
})

test('a caller needs the right to create or update; grants apply to each resource as in any write', async () => {
  const clinic = await importClinic({ more: [scopedCallers] })
  const patients = { type: 'Patient', url: clinic.write('p.ndjson', lines(patient('a'), patient(undefined))) }
  const observations = {
    type: 'Observation',
    url: clinic.write(
      'o.ndjson',
      lines(
        observation('in', { status: 'final' }),
        observation('out', { status: 'amended' }),
        observation('in2', { status: 'final' }),
      ),
    ),
  }
  for (const scope of ['system/*.rs', 'system/Observation.cruds', 'system/Patient.rds'])
    isRefused(await clinic.kickOff([patients], { scope }), 403, 'forbidden')
  isRefused(await clinic.kickOff([patients, observations], { scope: 'system/Patient.cu' }), 403, 'forbidden')
  // `c` stores new resources, and `u` those with ids.
  const created = await clinic.run([patients], { scope: 'system/Patient.crs' })
  assert.is(created.status, 200, created.text)
  assert.equal([created.json.output[0].count, created.json.error[0].count], [1, 1])
  const scope = 'system/Observation.rs system/Observation.cu?status=final'
  const { status, json, text } = await clinic.run([observations], { scope })
  assert.is(status, 200, text)
  assert.is(json.output[0].count, 2)
  const errors = await clinic.errors(json.error[0].url, { scope })
  assert.equal(
    errors.map(({ issue }) => issue[0].code),
    ['forbidden'],
  )
  assert.match(errors[0]?.issue[0].diagnostics, /o\.ndjson:2: /)
  assert.is((await clinic.ask('GET', '/Observation/out', undefined, ALL)).status, 404)
  assert.is((await clinic.ask('GET', '/Observation/in2', undefined, ALL)).status, 200)
  await clinic.stop()
})

test.run()

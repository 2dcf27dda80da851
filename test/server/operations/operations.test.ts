// database: memory
/** Operations that plugins add: addresses, parameters, Bundles, rulings, facts. https://hl7.org/fhir/R4/operations.html */
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { type AuditFact, defineError, definePlugin, type Interaction } from '../../../kernel/index.ts'
import { Fhir, type Operation, type OperationParameter } from '../../../plugins/fhir/service.ts'
import { type Answered, type Clinic, clinicWith, type Entry, type Json } from '../writes/clinic.ts'

const Denied = defineError('test/denied', 403, 'forbidden', 'Not this one.')
const facts: AuditFact[] = []
const asked: Interaction[] = []
const written: Interaction[] = []
const classes: string[] = []
let denied: string | undefined

const optional = (name: string, type: string, max: number | '*' = 1): OperationParameter => ({
  name,
  type,
  max,
  documentation: name,
})
const PARAMETERS: readonly OperationParameter[] = [
  optional('text', 'string'),
  optional('code', 'code', '*'),
  optional('flag', 'boolean'),
  optional('number', 'integer'),
  optional('amount', 'decimal'),
  optional('day', 'date'),
  optional('coding', 'Coding'),
  optional('patient', 'Patient'),
  optional('any', 'Element'),
  { name: 'group', max: '*', documentation: 'Parts.', part: [{ ...optional('name', 'string'), min: 1 }] },
]
const describe = (code: string): Omit<Operation, 'answer' | 'change'> => ({
  code,
  definition: `http://example.org/OperationDefinition/${code}`,
  documentation: `${code} it.`,
  levels: ['system', 'type', 'instance'],
  parameters: PARAMETERS,
})

const own = definePlugin({
  name: 'own-operations',
  needs: { fhir: Fhir },
  setup({ needs: { fhir }, hooks }) {
    fhir.operation({
      ...describe('echo'),
      answer: ({ inputs, interaction }) => ({
        resource: {
          resourceType: 'Basic',
          interaction,
          values: Object.fromEntries(PARAMETERS.slice(0, -1).map(({ name }) => [name, inputs.all(name)])),
          groups: inputs.all<{ get(name: string): unknown }>('group').map((group) => group.get('name')),
          json: inputs.json('patient'),
        },
      }),
    })
    fhir.operation({
      ...describe('register'),
      levels: ['type'],
      types: ['Patient'],
      parameters: [{ name: 'patient', type: 'Patient', min: 1, documentation: 'Whom.' }],
      change: ({ inputs }) => ({
        changes: [
          { kind: 'create', type: 'Patient', json: inputs.json('patient') as string },
          { kind: 'create', type: 'Basic', json: '{"resourceType":"Basic"}' },
        ],
        answer: ([patient]) => ({
          status: 201,
          headers: { 'x-made': `Patient/${patient?.id}` },
          json: patient?.json as string,
        }),
      }),
    })
    fhir.operation({ ...describe('silent'), levels: ['system'], parameters: [], answer: () => ({ status: 202 }) })
    fhir.operation({
      ...describe('only-basic'),
      levels: ['instance'],
      types: ['Basic'],
      parameters: [],
      change: ({ interaction: { id } }) => ({
        changes: [{ kind: 'delete', type: 'Basic', id: id as string }],
        answer: () => ({}),
      }),
    })
    hooks.authorize.tapPromise('deny', async (_request, interaction) => {
      asked.push(interaction)
      if (interaction.operation === denied && denied !== undefined) throw Denied()
    })
    hooks.onAudit.tap('keep', (fact) => void facts.push(fact))
    hooks.onWrite.tap('keep', ({ interaction }) => void written.push(interaction))
    hooks.meter.tap('keep', ({ request }) => void classes.push(request.requestClass))
  },
})

let clinic: Clinic
test.before(async () => {
  clinic = await clinicWith({}, [own])
})
test.after(() => clinic.stop())
test.before.each(() => {
  denied = undefined
  facts.length = asked.length = written.length = classes.length = 0
})

const parameters = (...parameter: readonly Json[]): Json => ({ resourceType: 'Parameters', parameter })
const told = (): readonly (readonly unknown[])[] =>
  facts.map(({ interaction: { kind, operation, type, entry }, status }) => [kind, operation, type, entry, status])
const refused = ({ status, json, text }: Answered, expected: number, code: string, words: RegExp): void => {
  assert.is(status, expected, text)
  assert.is(json.issue[0].code, code, text)
  assert.match(json.issue[0].diagnostics, words)
}

test('an operation is found at the base, at a type and at an instance, by GET and POST', async () => {
  for (const [url, type, id] of [
    ['/$echo', undefined, undefined],
    ['/Patient/$echo', 'Patient', undefined],
    ['/Patient/7/$echo', 'Patient', '7'],
  ])
    for (const method of ['GET', 'POST']) {
      const { status, json, text } = await clinic.ask(method, url as string)
      assert.is(status, 200, text)
      assert.equal([json.interaction.kind, json.interaction.operation], ['operation', 'echo'])
      assert.equal([json.interaction.type, json.interaction.id], [type, id])
    }
  assert.equal(classes, new Array(6).fill('operation'))
  assert.is((await clinic.ask('HEAD', '/$echo')).status, 200)
})

test('what is not there is 404 with what is, and a method that is not taken 405', async () => {
  refused(await clinic.ask('GET', '/$nothing'), 404, 'not-found', /\$nothing.*\$echo, .*\$silent/)
  refused(await clinic.ask('POST', '/Patient/$nothing'), 404, 'not-found', /known are: \$echo, .*\$register/)
  refused(await clinic.ask('GET', '/Observation/$register'), 404, 'not-found', /\$register/)
  refused(await clinic.ask('GET', '/Basic/1/$nothing'), 404, 'not-found', /\$only-basic/)
  refused(await clinic.ask('GET', '/Foo/$echo'), 404, 'not-supported', /Foo/)
  refused(await clinic.ask('GET', '/Patient/a_b/$echo'), 404, 'not-found', /a_b/)
  const byGet = await clinic.ask('GET', '/Patient/$register')
  refused(byGet, 405, 'not-supported', /by POST/)
  assert.is(byGet.headers.allow, 'POST')
  const byPut = await clinic.ask('PUT', '/$echo', {})
  refused(byPut, 405, 'not-supported', /PUT/)
  assert.is(byPut.headers.allow, 'GET, HEAD, POST')
})

test('parameters of a query are read as their types', async () => {
  const { json } = await clinic.ask(
    'GET',
    '/$echo?text=a%20b&code=x&code=y&flag=true&number=-3&amount=1.5&day=2024-02-29&_format=json',
  )
  const { text, code, flag, number, amount, day } = json.values
  assert.equal([text, code, flag, number, amount, day], [['a b'], ['x', 'y'], [true], [-3], [1.5], ['2024-02-29']])
})

test('parameters of a body are read with data types, resources and parts', async () => {
  const patient = '{"resourceType" : "Patient","multipleBirthInteger":1.00}'
  const body = `{"resourceType":"Parameters","parameter":[{"name":"coding","valueCoding":{"code":"c"}},
    {"name":"patient","resource": ${patient} },{"name":"any","valuePeriod":{"start":"2024"}},
    {"name":"group","part":[{"name":"name","valueString":"one"}]},{"name":"group","part":[{"name":"name","valueString":"two"}]}]}`
  const { json, text } = await clinic.ask('POST', '/$echo?text=q', body)
  assert.equal(json.values.coding, [{ code: 'c' }], text)
  assert.equal(json.values.any, [{ start: '2024' }])
  assert.equal(json.groups, ['one', 'two'])
  assert.is(json.json, patient)
  assert.equal(json.values.text, ['q'])
})

test('a resource may be the whole body, with the other parameters in the query', async () => {
  const { json } = await clinic.ask('POST', '/$echo?code=c', { resourceType: 'Patient', active: true })
  assert.equal([json.values.patient[0].active, json.values.code], [true, ['c']])
  refused(await clinic.ask('POST', '/$echo', { resourceType: 'Basic' }), 400, 'invalid', /\$echo.*a Patient.*"Basic"/)
  refused(await clinic.ask('POST', '/$silent', { resourceType: 'Basic' }), 400, 'invalid', /Parameters/)
})

test('a parameter that is unknown, missing, too often there or of another type is named', async () => {
  const post = (...list: readonly Json[]) => clinic.ask('POST', '/$echo', parameters(...list))
  refused(await clinic.ask('GET', '/$echo?bogus=1'), 400, 'not-supported', /"bogus".*\$echo.*text, code/)
  refused(await post({ name: 'bogus', valueString: 'x' }), 400, 'not-supported', /"bogus"/)
  refused(await clinic.ask('POST', '/Patient/$register'), 400, 'required', /\$register.*"patient"/)
  refused(await post({ name: 'group', part: [] }), 400, 'required', /"group\.name"/)
  refused(await clinic.ask('GET', '/$echo?text=a&text=b'), 400, 'invalid', /"text".*2.*1/)
  for (const query of ['flag=yes', 'number=1.5', 'number=1e400', 'amount=x', 'day=2023-02-29', 'code=%20', 'text='])
    refused(await clinic.ask('GET', `/$echo?${query}`), 400, 'value', new RegExp(`"${query.split('=')[0]}"`))
  refused(await clinic.ask('GET', '/$echo?coding=a'), 400, 'value', /"coding".*Coding.*POST/)
  for (const item of [
    { name: 'flag', valueString: 'true' },
    { name: 'flag', valueBoolean: 'true' },
    { name: 'code', valueCode: 1 },
    { name: 'coding', valueCoding: 'x' },
    { name: 'coding', valueQuantity: {} },
    { name: 'patient', resource: { resourceType: 'Basic' } },
    { name: 'patient', valueString: 'x' },
    { name: 'group', valueString: 'x' },
    { name: 'text', part: [] },
  ])
    refused(await post(item), 400, 'value', new RegExp(`"${item.name}"`))
  for (const item of ['x', {}, { name: 'text' }, { name: 'text', valueString: 'a', valueCode: 'b' }, { name: 1 }])
    refused(await post(item as Json), 400, 'structure', /Parameters/)
  assert.is(
    (await clinic.ask('GET', '/$echo?bogus=1', undefined, { headers: { prefer: 'handling=lenient' } })).status,
    200,
  )
})

test('a changing operation makes all of its changes or none', async () => {
  const made = await clinic.ask('POST', '/Patient/$register', '{"resourceType":"Patient","multipleBirthInteger":1.0}')
  assert.is(made.status, 201, made.text)
  assert.match(made.text, /"multipleBirthInteger":1\.0\}/)
  assert.is((await clinic.ask('GET', `/${made.headers['x-made']}`)).text, made.text)
  assert.equal(
    written.map(({ kind, operation, type }) => [kind, operation, type]),
    [
      ['operation', 'register', 'Patient'],
      ['operation', 'register', 'Basic'],
    ],
  )
  const before = await clinic.ids('Basic')
  const bad = { resourceType: 'Patient', id: 'a_b' }
  refused(await clinic.ask('POST', '/Patient/$register', bad), 400, 'value', /id/)
  assert.equal(await clinic.ids('Basic'), before)
})

test('an invocation is ruled on and told as one interaction with its code', async () => {
  await clinic.ask('GET', '/Patient/7/$echo')
  assert.equal(
    asked.map(({ kind, operation, type, id }) => [kind, operation, type, id]),
    [['operation', 'echo', 'Patient', '7']],
  )
  assert.equal(told(), [['operation', 'echo', 'Patient', undefined, 200]])
  denied = 'echo'
  facts.length = 0
  refused(await clinic.ask('GET', '/$echo'), 403, 'forbidden', /Not this/)
  refused(await clinic.ask('GET', '/$echo?number=x'), 403, 'forbidden', /Not this/)
  assert.equal(told(), [
    ['operation', 'echo', undefined, undefined, 403],
    ['operation', 'echo', undefined, undefined, 403],
  ])
})

test('in a batch and in a transaction it is one entry', async () => {
  const entries = (): Entry[] => [
    { request: { method: 'GET', url: 'Patient/$echo?code=q' } },
    { request: { method: 'POST', url: '$echo' }, resource: parameters({ name: 'code', valueCode: 'p' }) },
    { request: { method: 'POST', url: 'Patient/$register' }, resource: { resourceType: 'Patient' } },
    { request: { method: 'POST', url: '$silent' } },
  ]
  for (const kind of ['batch', 'transaction'] as const) {
    facts.length = 0
    const { status, json, text } = await clinic.bundle(kind, entries())
    assert.is(status, 200, text)
    const { entry } = json
    assert.equal(
      entry.map(({ response }: Json) => response.status),
      ['200 OK', '200 OK', '201 Created', '202 Accepted'],
    )
    assert.equal(entry[0].resource.values.code, ['q'])
    assert.equal(entry[1].resource.values.code, ['p'])
    assert.is(entry[2].resource.resourceType, 'Patient')
    const operations = facts.filter(({ interaction }) => interaction.kind === 'operation')
    assert.equal(
      operations.map(({ interaction }) => interaction.entry).sort(),
      [0, 1, 2, 2, 2, 3],
      'the invocation and what it made',
    )
  }
  const failing = await clinic.bundle('transaction', [
    { request: { method: 'POST', url: 'Basic' }, resource: { resourceType: 'Basic' } },
    { request: { method: 'POST', url: 'Patient/$register' }, resource: { resourceType: 'Patient', id: 'a_b' } },
  ])
  refused(failing, 400, 'value', /id/)
  assert.match(failing.json.issue[0].expression[0], /^Bundle\.entry\[1\]/)
  const missing = await clinic.bundle('batch', [{ request: { method: 'GET', url: 'Patient/$register' } }])
  assert.match(missing.json.entry[0].response.status, /^405/)
  const twice = await clinic.bundle('batch', [
    { request: { method: 'POST', url: 'Patient/1/$echo' } },
    { request: { method: 'POST', url: 'Patient/1/$echo' } },
  ])
  assert.equal(
    twice.json.entry.map(({ response }: Json) => response.status),
    ['200 OK', '200 OK'],
  )
})

test('what an operation changes and another entry too is refused', async () => {
  const id = await clinic.create({ resourceType: 'Basic' })
  const answer = await clinic.bundle('transaction', [
    { request: { method: 'POST', url: `Basic/${id}/$only-basic` } },
    { request: { method: 'PUT', url: `Basic/${id}` }, resource: { resourceType: 'Basic', id } },
  ])
  refused(answer, 400, 'invalid', new RegExp(`Basic/${id}`))
  assert.is((await clinic.ask('POST', `/Basic/${id}/$only-basic`)).status, 200)
  assert.is((await clinic.ask('GET', `/Basic/${id}`)).status, 410)
})

test('/metadata lists the operations from the same registry', async () => {
  const [rest] = (await clinic.ask('GET', '/metadata')).json.rest
  const names = (list: readonly Json[] = []): readonly string[] => list.map(({ name }) => name)
  assert.ok(names(rest.operation).includes('echo'))
  assert.ok(!names(rest.operation).includes('register'))
  const of = (type: string) => rest.resource.find((one: Json) => one.type === type).operation
  assert.equal(
    names(of('Patient')).filter((name) => ['echo', 'register', 'only-basic'].includes(name)),
    ['echo', 'register'],
  )
  const [echo] = of('Basic').filter(({ name }: Json) => name === 'echo')
  assert.is(echo.definition, 'http://example.org/OperationDefinition/echo')
  assert.is(echo.documentation, 'echo it.')
})

test('an operation that could not be told from another stops the start', async () => {
  const twice = (...operations: readonly Partial<Operation>[]) =>
    clinicWith({}, [
      definePlugin({
        name: 'twice',
        needs: { fhir: Fhir },
        setup({ needs: { fhir } }) {
          for (const one of operations) fhir.operation({ ...describe('one'), answer: () => ({}), ...one } as Operation)
        },
      }),
    ])
  const refusedStart = async (words: RegExp, ...operations: readonly Partial<Operation>[]) => {
    const started = await twice(...operations).catch((error: Error) => error)
    assert.instance(started, Error)
    assert.match((started as Error).message, words)
  }
  await refusedStart(/\$one.*same address/, { types: ['Patient'] }, { levels: ['type'] })
  await refusedStart(/\$\$one/, { code: '$one' })
  await refusedStart(/no level/, { levels: [] })
  await refusedStart(/same name/, { parameters: [optional('a', 'code'), optional('a', 'code')] })
  const fine = await twice({ types: ['Patient'], levels: ['type'] }, { types: ['Basic'], levels: ['type'] })
  await fine.stop()
})

test.run()

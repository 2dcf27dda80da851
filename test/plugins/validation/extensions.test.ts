/** Contexts of extensions, definitions of every shape, and R4's own extensions. https://hl7.org/fhir/R4/defining-extensions.html */
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { createValidator } from '../../../plugins/validation/validator.ts'
import { atLeast, r4Part, r4Service, r4Text } from './r4.ts'

type Json = Record<string, any>

const X = 'http://example.org/'

const definition = (name: string, context: readonly Json[], more: Json = {}): Json => ({
  resourceType: 'StructureDefinition',
  ...{ id: name, url: X + name, name, status: 'active', kind: 'complex-type', abstract: false },
  ...{
    type: 'Extension',
    baseDefinition: 'http://hl7.org/fhir/StructureDefinition/Extension',
    derivation: 'constraint',
  },
  context,
  differential: { element: [{ id: 'Extension', path: 'Extension' }] },
  ...more,
})
const on = (...expressions: readonly string[]): readonly Json[] =>
  expressions.map((expression) => ({ type: 'element', expression }))

const faultsOf = async (definitions: readonly Json[], resource: Json): Promise<readonly string[]> => {
  const validator = createValidator({ definitions: r4Service(definitions).service, level: 'profiles' })
  const issues = await validator.check(resource)
  return issues.filter(({ severity }) => severity === 'error').map(({ diagnostics }) => diagnostics)
}
const x = (name: string, more: Json = { valueString: 'x' }): Json => ({ url: X + name, ...more })
const patient = (more: Json): Json => ({ resourceType: 'Patient', ...more })

const ITEM = { linkId: '1', type: 'group', item: [{ linkId: '2', type: 'string', extension: [x('it')] }] }
const QUESTIONNAIRE = { resourceType: 'Questionnaire', status: 'draft', item: [ITEM] }
const QUANTITY = {
  resourceType: 'Observation',
  status: 'final',
  code: { text: 'x' },
  valueQuantity: { value: 1, extension: [x('it')] },
}

for (const [expression, resource, isAllowed] of [
  ['Element', patient({ extension: [x('it')] }), true],
  ['Resource', patient({ extension: [x('it')] }), true],
  ['DomainResource', patient({ extension: [x('it')] }), true],
  ['Patient', patient({ extension: [x('it')] }), true],
  ['Patient', patient({ contact: [{ name: { text: 'x' }, extension: [x('it')] }] }), false],
  ['Patient.contact', patient({ contact: [{ name: { text: 'x' }, extension: [x('it')] }] }), true],
  ['BackboneElement', patient({ contact: [{ name: { text: 'x' }, extension: [x('it')] }] }), true],
  ['HumanName', patient({ name: [{ extension: [x('it')] }] }), true],
  ['Patient.name', patient({ name: [{ extension: [x('it')] }] }), true],
  ['Patient.contact.name', patient({ name: [{ extension: [x('it')] }] }), false],
  ['string', patient({ _language: { extension: [x('it')] } }), true],
  ['code', patient({ _language: { extension: [x('it')] } }), true],
  ['Resource.language', patient({ _language: { extension: [x('it')] } }), true],
  ['date', patient({ _language: { extension: [x('it')] } }), false],
  ['Questionnaire.item', QUESTIONNAIRE, true],
  ['Questionnaire.item.item', QUESTIONNAIRE, true],
  ['Questionnaire.item.code', QUESTIONNAIRE, false],
  ['Observation.value[x]', QUANTITY, true],
  ['Observation.value', QUANTITY, true],
  ['Observation.component.value[x]', QUANTITY, false],
  ['Quantity', QUANTITY, true],
  [`${X}profile#Patient.name:official`, patient({ name: [{ extension: [x('it')] }] }), true],
  [`${X}profile#Patient.name:official`, patient({ extension: [x('it')] }), false],
] as const)
  test(`an extension for ${expression} is ${isAllowed ? 'taken' : 'refused'} in ${JSON.stringify(resource).slice(0, 90)}`, async () => {
    const faults = await faultsOf([definition('it', on(expression))], resource)
    assert.is(faults.length, isAllowed ? 0 : 1, faults.join('\n'))
    if (!isAllowed) assert.ok(faults[0]?.includes(`its definition allows ${expression}`), faults[0])
  })

test('an extension for another extension stands in that one only', async () => {
  const definitions = [
    definition('outer', on('Patient')),
    definition('inner', [{ type: 'extension', expression: `${X}outer` }]),
  ]
  const inside = patient({ extension: [x('outer', { extension: [x('inner')] })] })
  assert.equal(await faultsOf(definitions, inside), [])
  const [fault, ...more] = await faultsOf(definitions, patient({ extension: [x('inner')] }))
  assert.match(fault as string, /Patient\.extension\[0\]: the extension .*inner may not stand on Patient/)
  assert.is(more.length, 0)
})

test('a condition in FHIRPath refuses nothing', async () => {
  const context = [{ type: 'fhirpath', expression: 'Organization.where(false)' }]
  assert.equal(await faultsOf([definition('it', context)], patient({ extension: [x('it')] })), [])
})

test('one of several contexts is enough', async () => {
  const faults = await faultsOf([definition('it', on('Organization', 'Patient'))], patient({ extension: [x('it')] }))
  assert.equal(faults, [])
})

test('a definition without snapshot is checked by what it says itself', async () => {
  const element = [
    { id: 'Extension', path: 'Extension', max: '1' },
    { id: 'Extension.value[x]', path: 'Extension.value[x]', min: 1, type: [{ code: 'code' }] },
  ]
  const it = definition('it', on('Element'), { differential: { element } })
  assert.equal(await faultsOf([it], patient({ extension: [x('it', { valueCode: 'x' })] })), [])
  const faults = await faultsOf([it], patient({ extension: [x('it'), x('it', { valueCode: 'x' })] }))
  assert.match(faults.join('\n'), /extension\[0\]\.value: its type string is not allowed; allowed are code/)
  assert.match(faults.join('\n'), /extension\[1\]: the extension .* is there 2 times/)
})

test('a URL that names something else than an extension says nothing of it', async () => {
  const resource = patient({
    extension: [{ url: 'http://hl7.org/fhir/StructureDefinition/Patient', valueString: 'x' }],
  })
  assert.equal(await faultsOf([], resource), [])
})

test('an extension without a definition is looked for once', async () => {
  const { service, found } = r4Service()
  const validator = createValidator({ definitions: service, level: 'profiles' })
  const resource = patient({ extension: Array.from({ length: 50 }, () => x('unknown')) })
  await validator.validateWrite(resource)
  assert.is(validator.validateWrite(resource) instanceof Promise, false)
  assert.is(found.filter((one) => one.includes('unknown')).length, 1)
})

test('extensions nested a thousand deep take linear time, and too deep ones are one issue', async () => {
  const validator = createValidator({
    definitions: r4Service([definition('it', on('HumanName'))]).service,
    level: 'profiles',
  })
  const nested = (depth: number): Json => {
    let inner: Json = x('it')
    for (let at = 1; at < depth; at++) inner = x('it', { extension: [inner] })
    return patient({ extension: [inner] })
  }
  await validator.check(nested(1))
  const timed = async (depth: number): Promise<number> => {
    const from = process.threadCpuUsage()
    await validator.check(nested(depth))
    const used = process.threadCpuUsage(from)
    return used.user + used.system
  }
  const [small, large] = [await timed(100), await timed(1000)]
  assert.ok(large < 40 * small + 100_000, `${small} and ${large} microseconds`)
  const issues = await validator.check(nested(20_000))
  assert.ok(issues.some(({ diagnostics }) => /nested too deeply/.test(diagnostics ?? '')))
})

test('no example of R4 breaks the definition of an extension', async () => {
  const validator = createValidator({ definitions: r4Service().service, level: 'profiles' })
  let checked = 0
  for (const file of r4Part()) {
    const text = r4Text(file)
    if (!text.includes('xtension":') || text.length > 300_000) continue
    const issues = await validator.check(JSON.parse(text))
    const faults = issues.filter(
      ({ severity, diagnostics }) => severity === 'error' && /\(Profile /.test(diagnostics ?? ''),
    )
    assert.equal(faults, [], file)
    checked++
  }
  assert.ok(checked > atLeast(180, 3_000), String(checked))
})

test.run()

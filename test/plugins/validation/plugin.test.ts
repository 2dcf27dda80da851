/** The plugin on a bare kernel: its setting, its service, what it loads and when. */
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { createKernel, definePlugin, type Issue, isServerError, type Kernel } from '../../../kernel/index.ts'
import { Definitions } from '../../../plugins/packages/service.ts'
import { createDefinitionLoader } from '../../../plugins/validation/definition-loader.ts'
import validation from '../../../plugins/validation/index.ts'
import { Validator } from '../../../plugins/validation/service.ts'
import { r4Service } from './r4.ts'

const log = { level: 'silent' } as const
const stub = (service: Definitions) =>
  definePlugin({ name: 'stub', provides: [Definitions], setup: ({ provide }) => provide(Definitions, service) })

const kernelWith = (settings: object = {}, service: Definitions = r4Service().service, more: object[] = []) =>
  createKernel({ plugins: [stub(service), validation, ...(more as any)], settings, log })

const patient = (more: object = {}) => ({ resourceType: 'Patient', ...more })

/** The refusal of a write, and its issues. */
const refusalOf = async (kernel: Kernel, resource: Record<string, unknown>, options?: { text: string }) => {
  try {
    await kernel.get(Validator).validateWrite(resource, options)
  } catch (error) {
    if (!isServerError(error)) throw error
    const issues = error.extras.issues ?? []
    return { status: error.status, issues: issues.map(({ code, expression }) => `${code} ${expression}`) }
  }
  return undefined
}

test('it needs no setting, and takes each level', async () => {
  const levels = [undefined, 'structure', 'rules', 'profiles']
  for (const level of levels) {
    const kernel = await kernelWith(level === undefined ? {} : { conformance: { validation: level } })
    assert.is(await refusalOf(kernel, patient({ active: true })), undefined, level)
    const refused = await refusalOf(kernel, patient({ active: 'yes' }))
    assert.equal(refused, { status: 400, issues: ['structure Patient.active'] }, level)
  }
})

test('another level is refused by name', async () => {
  let message = ''
  try {
    await kernelWith({ conformance: { validation: 'strict' } })
  } catch (error) {
    message = (error as Error).message
  }
  assert.match(message, '[conformance] validation is "strict"; it takes one of structure, rules, profiles')
})

test('a sound resource passes, and one at fault is refused with 400 and every issue', async () => {
  const kernel = await kernelWith()
  assert.equal(await kernel.get(Validator).validateWrite(patient({ name: [{ family: 'F' }] })), [])
  assert.equal(await refusalOf(kernel, patient({ foo: 1, birthDate: '2023-02-29' })), {
    status: 400,
    issues: ['structure Patient.foo', 'value Patient.birthDate'],
  })
})

test('a broken invariant is refused with 422, with 400 when the structure is broken too', async () => {
  const kernel = await kernelWith()
  const broken = { extension: [{ url: 'http://x' }] }
  assert.equal(await refusalOf(kernel, patient(broken)), { status: 422, issues: ['invariant Patient.extension[0]'] })
  assert.is((await refusalOf(kernel, patient({ ...broken, foo: 1 })))?.status, 400)
})

const NAMED = {
  resourceType: 'StructureDefinition',
  ...{
    url: 'http://x/named',
    name: 'named',
    type: 'Patient',
    kind: 'resource',
    abstract: false,
    derivation: 'constraint',
  },
  baseDefinition: 'http://hl7.org/fhir/StructureDefinition/Patient',
  differential: { element: [{ id: 'Patient.name', path: 'Patient.name', min: 1 }] },
}
const unnamed = patient({ meta: { profile: ['http://x/named'] } })
const unruly = patient({ contact: [{ gender: 'male' }] })
const manly = patient({ gender: 'man' })

test('each level checks what it says: structure, rules, profiles', async () => {
  const refused = async (level: string) => {
    const kernel = await kernelWith({ conformance: { validation: level } }, r4Service([NAMED]).service)
    const all: unknown[] = []
    for (const resource of [patient({ foo: 1 }), unruly, manly, unnamed]) all.push(await refusalOf(kernel, resource))
    return all
  }
  const structure = { status: 400, issues: ['structure Patient.foo'] }
  const rules = { status: 422, issues: ['invariant Patient.contact[0]'] }
  const codes = { status: 422, issues: ['code-invalid Patient.gender'] }
  const profiles = { status: 422, issues: ['required Patient.name'] }
  assert.equal(await refused('structure'), [structure, undefined, undefined, undefined])
  assert.equal(await refused('rules'), [structure, rules, codes, undefined])
  assert.equal(await refused('profiles'), [structure, rules, codes, profiles])
})

test('profiles are the level when none is set', async () => {
  assert.is((await refusalOf(await kernelWith({}, r4Service([NAMED]).service), unnamed))?.status, 422)
})

test('a profile that is not installed is a warning of a write, not a refusal', async () => {
  const validator = (await kernelWith()).get(Validator)
  const issues = await validator.validateWrite(unnamed)
  assert.equal(
    issues.map(({ severity, code }) => `${severity} ${code}`),
    ['warning not-found'],
  )
  assert.match(issues[0]!.diagnostics, 'http://x/named is not installed')
})

test('profiles that are asked for are checked beside those that are claimed', async () => {
  const validator = (await kernelWith({ conformance: { validation: 'structure' } }, r4Service([NAMED]).service)).get(
    Validator,
  )
  const issues = await validator.check(patient({}), { profiles: ['http://x/named'] })
  assert.equal(
    issues.map(({ code, expression }) => `${code} ${expression}`),
    ['required Patient.name', 'invariant Patient'],
  )
  assert.match(issues[1]!.diagnostics, 'dom-6')
})

test('a rule that needs fhirpath.js loads it, once', async () => {
  const rule = { key: 'x-1', severity: 'error', human: 'born', expression: 'birthDate <= today()' }
  const born = { ...NAMED, differential: { element: [{ id: 'Patient', path: 'Patient', constraint: [rule] }] } }
  const kernel = await kernelWith({}, r4Service([born]).service)
  const claiming = (birthDate: string) => ({ ...unnamed, birthDate })
  assert.equal(await refusalOf(kernel, claiming('9999-01-01')), { status: 422, issues: ['invariant Patient'] })
  assert.equal(kernel.get(Validator).validateWrite(claiming('1970-01-01')), [])
})

test('an unknown resource type inside a Bundle is refused', async () => {
  const kernel = await kernelWith()
  const bundle = { resourceType: 'Bundle', type: 'collection', entry: [{ resource: { resourceType: 'Foo' } }] }
  assert.equal(await refusalOf(kernel, bundle), {
    status: 400,
    issues: ['structure Bundle.entry[0].resource.resourceType'],
  })
})

test('the text tells integers that are spelled as decimals', async () => {
  const kernel = await kernelWith()
  const text = '{"resourceType":"Patient","multipleBirthInteger":1.0}'
  assert.is(await refusalOf(kernel, JSON.parse(text)), undefined)
  assert.is((await refusalOf(kernel, JSON.parse(text), { text }))?.status, 400)
})

test('definitions are loaded once, at the first use; from then on the answer comes at once', async () => {
  const { service, found } = r4Service()
  const validator = (await kernelWith({}, service)).get(Validator)
  assert.equal(found, [])
  const resource = patient({ name: [{ family: 'F' }], managingOrganization: { reference: 'Organization/1' } })
  const first = validator.validateWrite(resource)
  assert.instance(first, Promise)
  assert.equal(await first, [])
  const structures = found.filter((one) => one.startsWith('StructureDefinition'))
  assert.equal(new Set(structures).size, structures.length)
  found.length = 0
  assert.equal(validator.validateWrite(resource), [])
  assert.equal(found, [])
})

test('writes that come together share the loading', async () => {
  const { service, found } = r4Service()
  const validator = (await kernelWith({}, service)).get(Validator)
  const resources = Array.from({ length: 20 }, (_, at) => patient({ name: [{ family: `F${at}` }] }))
  for (const issues of await Promise.all(resources.map((resource) => validator.validateWrite(resource))))
    assert.equal(issues, [])
  assert.equal(new Set(found).size, found.length, String(found))
})

test('parsed definitions are dropped when nothing is being compiled', async () => {
  const source = createDefinitionLoader(r4Service().service)
  const find = () => source.find('StructureDefinition', 'http://hl7.org/fhir/StructureDefinition/Patient')
  const settled = source.runLoaded(find)
  assert.instance(settled, Promise)
  assert.is((await settled)?.name, 'Patient')
  assert.is(find(), null)
})

test('a failing database fails the write, and the next one tries again', async () => {
  const { service } = r4Service()
  const { find } = service
  const validator = (await kernelWith({}, service)).get(Validator)
  service.find = async () => {
    throw new Error('the database is gone')
  }
  try {
    await validator.validateWrite(patient())
    assert.unreachable('it answers without definitions')
  } catch (error) {
    assert.is((error as Error).message, 'the database is gone')
  }
  service.find = find
  assert.equal(await validator.validateWrite(patient()), [])
})

test('a definition that is not found is not looked for again and again', async () => {
  const { service, found } = r4Service()
  const kernel = await kernelWith({}, service)
  const bundle = {
    resourceType: 'Bundle',
    type: 'collection',
    entry: Array.from({ length: 50 }, (_, at) => ({ resource: { resourceType: `Foo${'x'.repeat(at)}` } })),
  }
  await refusalOf(kernel, bundle)
  const looked = found.length
  await refusalOf(kernel, bundle)
  assert.is(found.length, looked)
})

test('a thousand unknown types in one Bundle are one answer, not a thousand rounds', async () => {
  const { service, found } = r4Service()
  const kernel = await kernelWith({}, service)
  const name = (at: number) => `Z${String(at).replaceAll(/\d/g, (digit) => 'abcdefghij'[Number(digit)]!)}`
  const entry = Array.from({ length: 5000 }, (_, at) => ({ resource: { resourceType: name(at) } }))
  const refusal = await refusalOf(kernel, { resourceType: 'Bundle', type: 'collection', entry })
  assert.is(refusal?.status, 400)
  assert.ok(found.length < 3100, String(found.length))
})

test('what is compiled goes with the packages it was compiled from', async () => {
  const { service, found } = r4Service()
  const validator = (await kernelWith({}, service)).get(Validator)
  await validator.validateWrite(patient())
  found.length = 0
  service.fingerprint = 'r4 and more'
  assert.equal(await validator.validateWrite(patient()), [])
  assert.ok(found.includes('StructureDefinition http://hl7.org/fhir/StructureDefinition/Patient'))
})

test('other plugins add checks, synchronous or not, which see only resources of sound structure', async () => {
  const seen: unknown[] = []
  const issue = (severity: Issue['severity'], text: string): Issue => ({
    severity,
    code: 'business-rule',
    diagnostics: text,
    expression: ['Patient'],
  })
  const acme = definePlugin({
    name: 'acme',
    needs: { validator: Validator },
    setup({ needs: { validator } }) {
      validator.addCheck({
        name: 'acme: patients are active',
        type: 'Patient',
        check(resource) {
          seen.push(resource.id)
          return resource.active === true ? [] : [issue('error', 'not active')]
        },
      })
      validator.addCheck({
        name: 'acme: a hint on everything',
        check: async () => [issue('warning', 'a hint')],
      })
    },
  })
  const kernel = await kernelWith({}, undefined, [acme])
  const validator = kernel.get(Validator)
  const hint = issue('warning', 'a hint')
  assert.equal(await validator.validateWrite(patient({ id: 'a', active: true })), [hint])
  assert.equal(await validator.validateWrite({ resourceType: 'Basic', code: { text: 'x' } }), [hint])
  assert.equal(await refusalOf(kernel, patient({ id: 'b' })), {
    status: 422,
    issues: ['business-rule Patient', 'business-rule Patient'],
  })
  assert.is((await refusalOf(kernel, patient({ id: 'c', foo: 1 })))?.status, 400)
  assert.equal(seen, ['a', 'b'])
  const text = { status: 'generated', div: '<div xmlns="http://www.w3.org/1999/xhtml">x</div>' }
  assert.equal(await validator.check(patient({ id: 'd', text })), [issue('error', 'not active'), hint])
})

test('check answers every issue and refuses nothing', async () => {
  const validator = (await kernelWith()).get(Validator)
  const wrong = patient(Object.fromEntries(Array.from({ length: 500 }, (_, at) => [`foo${at}`, 1])))
  assert.is((await validator.check(wrong)).length, 500)
})

test('two kernels in one process keep to their own definitions', async () => {
  const one = (await kernelWith()).get(Validator)
  const { service } = r4Service()
  service.find = async () => undefined
  const other = await kernelWith({}, service)
  assert.equal(await one.validateWrite(patient()), [])
  assert.equal((await refusalOf(other, patient()))?.issues, ['structure Resource.resourceType'])
})

test.run()

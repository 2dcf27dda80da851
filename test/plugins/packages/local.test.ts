/** Packages the operator gives as a directory or a .tgz. */
import { mkdirSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { CORE, type PackagePlace, packagePlace, SDC } from '../../support/package-server.ts'
import { packageFiles, packageTgz, structure, type TestPackage } from '../../support/tgz.ts'

const localTest = suite<{ place: PackagePlace }>('a local package')
localTest.before.each(async (context) => {
  context.place = await packagePlace()
})
localTest.after.each(({ place }) => place.leave())

const BOTH = ['hl7.fhir.r4.core@4.0.1', 'hl7.fhir.uv.sdc@4.0.0']
const BASE = 'http://hl7.org/fhir'
const guide = (version: string, ...ids: string[]): TestPackage => ({
  name: 'test.guide',
  version,
  files: Object.fromEntries(
    ids.map((id) => [`StructureDefinition-${id}.json`, structure(id, `http://example.org/${id}`, version)]),
  ),
})

const writeFolder = (path: string, pack: TestPackage): string => {
  rmSync(path, { recursive: true, force: true })
  for (const [name, content] of Object.entries(packageFiles(pack))) {
    mkdirSync(dirname(join(path, name)), { recursive: true })
    writeFileSync(join(path, name), content)
  }
  return path
}
const writeTgz = (path: string, pack: TestPackage): string => {
  writeFileSync(path, packageTgz(pack))
  return path
}
const idsOf = async ({ definitions }: { definitions: { all(type: string): Promise<readonly { id: string }[]> } }) =>
  (await definitions.all('StructureDefinition')).map(({ id }) => id)

localTest(
  'is installed from a directory, a directory with a package folder, and a .tgz, and no source asked',
  async (context) => {
    const { place } = context
    const one = writeFolder(join(place.folder, 'one'), { ...guide('1.0.0', 'a'), name: 'test.one' })
    const two = join(place.folder, 'two')
    writeFolder(join(two, 'package'), { ...guide('1.0.0', 'b'), name: 'test.two' })
    const three = writeTgz(join(place.folder, 'three.tgz'), { ...guide('1.0.0', 'c'), name: 'test.three' })
    const settings = { skip_default_packages: true, packages: [one, two, three] }
    const server = await place.started(settings)
    assert.equal(server.installed, ['test.one@1.0.0', 'test.two@1.0.0', 'test.three@1.0.0'])
    assert.equal(await idsOf(server), ['a', 'b', 'c'])
    assert.equal(place.registry.requests, [])
    await server.stop()
    const again = await place.started(settings)
    assert.equal(again.steps, [])
  },
)

localTest('installs definitions and none of its examples', async ({ place }) => {
  const pack: TestPackage = {
    name: 'test.guide',
    version: '1.0.0',
    files: {
      'Patient-example.json': { resourceType: 'Patient', id: 'example' },
      'Observation-profile.json': structure('profile', 'http://example.org/profile'),
      'Bundle-large.json': `{"resourceType":"Bundle","x":"${'x'.repeat(400_000)}"}`,
      'Questionnaire-q.json': { resourceType: 'Questionnaire', id: 'q', url: 'http://example.org/q' },
      'broken-example.json': '{"resourceType":"Patient", broken',
      '.index.json': { 'index-version': 1, files: [] },
      'list.json': [],
      'ValueSet-without-id.json': { resourceType: 'ValueSet', url: 'http://example.org/v' },
      'CodeSystem-bom.json': `\ufeff${JSON.stringify({ resourceType: 'CodeSystem', id: 'bom', url: 'http://example.org/bom' })}`,
      'example/StructureDefinition-no.json': structure('no', 'http://example.org/no'),
    },
  }
  const folder = writeFolder(join(place.folder, 'guide'), pack)
  const server = await place.started({ skip_default_packages: true, packages: [folder] })
  const { definitions } = server
  assert.equal(await definitions.all('Patient'), [])
  assert.equal(await definitions.all('Bundle'), [])
  assert.equal(await idsOf(server), ['profile'])
  assert.is((await definitions.find('Questionnaire', 'http://example.org/q'))?.id, 'q')
  assert.is((await definitions.find('ValueSet', 'http://example.org/v'))?.id, 'ValueSet-without-id')
  assert.is(JSON.parse((await definitions.find('CodeSystem', 'http://example.org/bom'))!.json).id, 'bom')
  // Bytes as they came, from a .tgz too.
  const packed = writeTgz(join(place.folder, 'guide.tgz'), { ...pack, version: '1.0.1' })
  await server.stop()
  const other = await place.started({ skip_default_packages: true, packages: [packed] })
  assert.equal(
    (await other.definitions.all('Questionnaire')).map(({ id }) => id),
    ['q'],
  )
  assert.is(
    (await other.definitions.find('StructureDefinition', 'http://example.org/profile'))?.json,
    packageFiles(pack)['Observation-profile.json'],
  )
})

localTest('of type fhir.examples gives no questionnaires', async ({ place }) => {
  const files = { 'Questionnaire-q.json': { resourceType: 'Questionnaire', id: 'q', url: 'http://example.org/q' } }
  const folder = writeFolder(join(place.folder, 'x'), {
    name: 'test.x',
    version: '1.0.0',
    type: 'fhir.examples',
    files,
  })
  const server = await place.started({ skip_default_packages: true, packages: [folder] })
  assert.equal(await server.definitions.all('Questionnaire'), [])
})

localTest('is installed again when it changed on disk, and not when it did not', async ({ place }) => {
  const path = join(place.folder, 'guide')
  const settings = { skip_default_packages: true, packages: [path] }
  const fingerprints: string[] = []
  const start = async () => {
    const server = await place.started(settings)
    fingerprints.push(server.definitions.fingerprint)
    const state = { installed: [...server.installed], ids: await idsOf(server), work: server.steps.length > 0 }
    await server.stop()
    return state
  }
  writeFolder(path, guide('1.0.0', 'a', 'b'))
  assert.equal(await start(), { installed: ['test.guide@1.0.0'], ids: ['a', 'b'], work: true })
  assert.equal(await start(), { installed: ['test.guide@1.0.0'], ids: ['a', 'b'], work: false })
  // One file written anew with the same length: only its time differs.
  const file = join(path, 'StructureDefinition-a.json')
  const { mtimeMs } = statSync(file)
  writeFileSync(file, JSON.stringify(structure('z', 'http://example.org/a', '1.0.0')))
  utimesSync(file, mtimeMs / 1000 + 5, mtimeMs / 1000 + 5)
  assert.equal(await start(), { installed: ['test.guide@1.0.0'], ids: ['b', 'z'], work: true })
  // Another version at the same path takes the place of the one before.
  writeFolder(path, guide('1.1.0', 'c'))
  assert.equal(await start(), { installed: ['test.guide@1.1.0'], ids: ['c'], work: true })
  assert.is(new Set(fingerprints).size, 3)
})

localTest('takes the place of the same version that came from elsewhere, in its order', async ({ place }) => {
  place.publish(guide('1.0.0', 'a'), { name: 'test.next', version: '1.0.0' })
  const packages = ['test.guide@1.0.0', 'test.next@1.0.0']
  await (await place.started({ skip_default_packages: true, packages })).stop()
  const path = writeTgz(join(place.folder, 'guide.tgz'), guide('1.0.0', 'mine'))
  const server = await place.started({ skip_default_packages: true, packages: [path] })
  assert.equal(server.installed, packages)
  assert.equal(await idsOf(server), ['mine'])
})

localTest('serves as default package and as dependency: nothing is fetched for it', async ({ place }) => {
  const needs = { ...guide('1.0.0', 'a'), dependencies: { 'test.base': '2.0.0', 'hl7.fhir.r4.core': '4.0.1' } }
  const packages = [
    writeTgz(join(place.folder, 'guide.tgz'), needs),
    writeFolder(join(place.folder, 'base'), { name: 'test.base', version: '2.1.0' }),
    writeTgz(join(place.folder, 'sdc.tgz'), SDC),
    writeTgz(join(place.folder, 'core.tgz'), CORE),
  ]
  const server = await place.started({ packages })
  assert.equal(server.installed, [...BOTH, 'test.base@2.1.0', 'test.guide@1.0.0'])
  assert.equal(place.registry.requests, [])
})

const STAND_IN: TestPackage = {
  name: 'hl7.fhir.r4.examples',
  version: '4.0.1',
  type: 'fhir.examples',
  files: {
    ...Object.fromEntries(
      ['Resource', 'Patient', 'HumanName'].map((id) => [
        `StructureDefinition-${id}.json`,
        structure(id, `${BASE}/StructureDefinition/${id}`, '4.0.1'),
      ]),
    ),
    'SearchParameter-Resource-id.json': {
      resourceType: 'SearchParameter',
      id: 'Resource-id',
      url: `${BASE}/SearchParameter/Resource-id`,
      version: '4.0.1',
    },
    'CompartmentDefinition-patient.json': {
      resourceType: 'CompartmentDefinition',
      id: 'patient',
      url: `${BASE}/CompartmentDefinition/patient`,
      version: '4.0.1',
    },
  },
}

localTest('with the definitions of the core under another name stands for the core', async ({ place }) => {
  place.publish(SDC)
  const path = writeFolder(join(place.folder, 'examples'), STAND_IN)
  const server = await place.started({ packages: [path] })
  assert.equal(server.installed, ['hl7.fhir.r4.examples@4.0.1', 'hl7.fhir.uv.sdc@4.0.0'])
  assert.equal(place.registry.requests, ['GET /hl7.fhir.uv.sdc', 'GET /hl7.fhir.uv.sdc/4.0.0'])
  await server.stop()
  place.registry.requests.length = 0
  // From then on, without being given again.
  assert.equal((await place.started({})).steps, [])
  assert.equal(place.registry.requests, [])
})

localTest('with a part of the core, or another release of it, does not', async ({ place }) => {
  place.publish(CORE, SDC)
  const { 'SearchParameter-Resource-id.json': _, ...files } = STAND_IN.files!
  const part = writeFolder(join(place.folder, 'part'), { ...STAND_IN, files })
  const older = JSON.parse(JSON.stringify(STAND_IN.files).replaceAll('4.0.1', '4.0.0')) as TestPackage['files']
  const other = writeFolder(join(place.folder, 'other'), { ...STAND_IN, version: '4.0.0', files: older! })
  const server = await place.started({ packages: [part, other] })
  assert.equal(server.installed, [...BOTH, 'hl7.fhir.r4.examples@4.0.1', 'hl7.fhir.r4.examples@4.0.0'])
})

const WRONG: readonly [string, (folder: string) => string, RegExp][] = [
  [
    'a directory that is not there',
    (folder) => join(folder, 'none'),
    /The package \S+none cannot be read: there is no such directory\. Correct the path/,
  ],
  [
    'a .tgz that is not there',
    (folder) => join(folder, 'none.tgz'),
    /none\.tgz cannot be read: there is no such file\./,
  ],
  [
    'a directory named like a .tgz',
    (folder) => writeFolder(join(folder, 'x.tgz'), guide('1.0.0')),
    /x\.tgz cannot be read: it is no file/,
  ],
  [
    'a directory without package.json',
    (folder) => dirname(writeFolder(join(folder, 'deep', 'er'), guide('1.0.0'))),
    /deep is refused: it holds no package\.json/,
  ],
  [
    'a broken definition',
    (folder) => writeFolder(join(folder, 'x'), { ...guide('1.0.0'), files: { 'ValueSet-x.json': '{' } }),
    /its entry "ValueSet-x\.json" is not JSON/,
  ],
  [
    'another release',
    (folder) => writeFolder(join(folder, 'x'), { ...guide('1.0.0'), fhirVersions: ['4.3.0'] }),
    /test\.guide@1\.0\.0 in \S+x is for FHIR 4\.3\.0/,
  ],
  ['neither name nor path', () => 'not a package!', /"not a package!" is not a package: give name@version/],
  ['a name with two versions', () => 'test.guide@1@2', /"test\.guide@1@2" is not a package/],
]
for (const [what, make, words] of WRONG)
  localTest(`refuses the start when it is ${what}, in one line`, async ({ place }) => {
    const message = await place.refused({ skip_default_packages: true, packages: [make(place.folder)] })
    assert.match(message, words)
    assert.not.match(message, /\n/)
  })

localTest.run()

/** The real R4 definitions, from a directory and from a .tgz of the size a registry sends. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { type PackagePlace, packagePlace, SDC } from '../../support/package-server.ts'
import { examplesFolder } from '../../support/stub-definitions.ts'
import { type TarEntry, tar } from '../../support/tgz.ts'

const r4Test = suite<{ place: PackagePlace }>('the R4 definitions')
r4Test.before.each(async (context) => {
  context.place = await packagePlace()
  context.place.publish(SDC)
})
r4Test.after.each(({ place }) => place.leave())

const PATIENT = 'http://hl7.org/fhir/StructureDefinition/Patient'
// Files of these types in hl7.fhir.r4.examples 4.0.1.
const COUNTS = {
  SearchParameter: 1400,
  ValueSet: 1316,
  CodeSystem: 1062,
  StructureDefinition: 655,
  ConceptMap: 80,
  OperationDefinition: 47,
  CompartmentDefinition: 6,
}

/** Every definition and a few examples, as one .tgz under the name of the core package. */
const coreTgz = (): Buffer => {
  const wanted = new RegExp(`^(${Object.keys(COUNTS).join('|')}|Patient)-.*\\.json$`)
  const manifest = { name: 'hl7.fhir.r4.core', version: '4.0.1', fhirVersions: ['4.0.1'], type: 'fhir.core' }
  const entries: TarEntry[] = [{ name: 'package/package.json', body: JSON.stringify(manifest) }]
  for (const name of readdirSync(examplesFolder))
    if (wanted.test(name)) entries.push({ name: `package/${name}`, body: readFileSync(join(examplesFolder, name)) })
  return gzipSync(tar(entries), { level: 1 })
}

r4Test('from a directory: all of them, byte for byte, and nobody’s data', async ({ place }) => {
  const settings = { packages: [examplesFolder] }
  const server = await place.started(settings)
  assert.equal(server.installed, ['hl7.fhir.r4.examples@4.0.1', 'hl7.fhir.uv.sdc@4.0.0'])
  const { definitions } = server
  for (const [type, count] of Object.entries(COUNTS)) {
    const own = (await definitions.all(type)).filter((one) => one.package.startsWith('hl7.fhir.r4.examples'))
    assert.is(own.length, count, type)
  }
  for (const type of ['Patient', 'Observation', 'Bundle', 'Questionnaire', 'Library'])
    assert.equal(await definitions.all(type), [], type)
  const patient = await definitions.find('StructureDefinition', PATIENT)
  assert.is(patient?.json, readFileSync(join(examplesFolder, 'StructureDefinition-Patient.json'), 'utf8'))
  assert.is(patient?.version, '4.0.1')
  await server.stop()
  place.registry.requests.length = 0
  const again = await place.started(settings)
  assert.equal(again.steps, [])
  assert.equal(place.registry.requests, [])
  assert.is(again.definitions.fingerprint, definitions.fingerprint)
})

r4Test('from a registry: the same ones, through the cache', async ({ place }) => {
  place.registry.publish({ name: 'hl7.fhir.r4.core', version: '4.0.1', tgz: coreTgz() })
  const server = await place.started()
  assert.equal(server.installed, ['hl7.fhir.r4.core@4.0.1', 'hl7.fhir.uv.sdc@4.0.0'])
  for (const [type, count] of Object.entries(COUNTS)) {
    const own = (await server.definitions.all(type)).filter((one) => one.package.startsWith('hl7.fhir.r4.core'))
    assert.is(own.length, count, type)
  }
  assert.equal(await server.definitions.all('Patient'), [])
  assert.is(
    (await server.definitions.find('StructureDefinition', PATIENT))?.json,
    readFileSync(join(examplesFolder, 'StructureDefinition-Patient.json'), 'utf8'),
  )
})

r4Test.run()

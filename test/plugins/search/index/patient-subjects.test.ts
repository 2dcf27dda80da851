// database: memory
/** The text of a resource names the same patients as the parsed resource does, for R4 examples and for made ones. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { toOwnUrl } from '../../../../kernel/index.ts'
import { compileSearchDefinitions } from '../../../../plugins/search/definition/compile-definitions.ts'
import { createPatientSubjects } from '../../../../plugins/search/index/patient-subjects.ts'
import { singlePatientReference } from '../../../../plugins/search/index/single-patient.ts'
import { StoredVersion } from '../../../../plugins/storage/version.ts'
import { createDice } from '../../../bench/corpus/random.ts'
import { isChosen, readChosen } from '../../../support/chosen-examples.ts'
import { examplesFolder } from '../../../support/stub-definitions.ts'

const OWN = toOwnUrl('http://own.example/fhir')
const names = readdirSync(examplesFolder).filter((name) => name.endsWith('.json') && name !== 'package.json')
const read = (name: string): string => readFileSync(join(examplesFolder, name), 'utf8')
const loadAll = (type: string) =>
  names.filter((name) => name.startsWith(`${type}-`)).map((name) => JSON.parse(read(name)))

const structures = loadAll('StructureDefinition')
const types = structures
  .filter((one) => one.kind === 'resource' && !one.abstract && one.derivation !== 'constraint')
  .map((one) => one.type as string)
const patients = createPatientSubjects(
  compileSearchDefinitions({
    structures,
    parameters: loadAll('SearchParameter'),
    compartments: loadAll('CompartmentDefinition'),
    types,
  }),
)

const toVersion = (type: string, text: string): StoredVersion =>
  new StoredVersion(type, { rid: 1, type: 1, id: 'x', ver: 1, upd: 1, flags: 0, body: Buffer.from(text) })
const parsed = (type: string, text: string): readonly string[] => patients.ofResource(type, 'x', JSON.parse(text), OWN)

const MEMBERS = new Set(['subject', 'patient'])

test('the text of R4 examples tells the patients that the parsed resource tells', () => {
  let told = 0
  for (const name of names.filter(isChosen)) {
    const resource = JSON.parse(readChosen(name))
    for (const text of [JSON.stringify(resource), JSON.stringify(resource, null, 2)]) {
      const type = resource.resourceType
      assert.equal(patients.ofVersion(toVersion(type, text), OWN), parsed(type, text), name)
      if (singlePatientReference(text, MEMBERS) !== undefined) told += 1
    }
  }
  assert.ok(told > 100, `only ${told} were told without being parsed`)
})

test('and that of any other resource', () => {
  const dice = createDice(11)
  const strings = [
    '"Patient/1"',
    '"Patient/1"',
    '"Practitioner/1"',
    '"Patient\\/2"',
    '"\\u0050atient/3"',
    '"http://else.where/Patient/4"',
    '"http://own.example/fhir/Patient/7"',
    '"Patient/5/_history/1"',
    '"x \\" } ] { ["',
    '"{\\"subject\\":{\\"reference\\":\\"Patient/6\\"}}"',
    '"\\\\"',
    '""',
  ]
  const keys = ['subject', 'subject', 'patient', 'reference', 'reference', 'display', 'a\\"subject', 'sub\\u006aect']
  const string = (): string => (dice.below(3) === 0 ? dice.pick(strings) : '"x"')
  const named = (): string => (dice.below(2) === 0 ? '"Patient/1"' : string())
  const reference = (): string =>
    dice.pick([
      `{"reference":${named()}}`,
      `{"reference":${named()},"display":${string()}}`,
      `{"reference":${string()},"reference":${string()}}`,
      `{"display":${string()},"reference":${string()}}`,
      `{ "reference" : ${string()} }`,
    ])
  const value = (depth: number): string => {
    const kind = dice.below(depth > 2 ? 2 : 6)
    if (kind === 0) return string()
    if (kind < 3) return reference()
    if (kind === 3) return `[${value(depth + 1)},${value(depth + 1)}]`
    return object(depth + 1)
  }
  const object = (depth: number): string =>
    `{${Array.from({ length: dice.below(4) }, () => `"${dice.pick(keys)}":${value(depth)}`).join(',')}}`
  let told = 0
  for (let n = 0; n < 80_000; n += 1) {
    const text = object(0)
    const type = dice.pick(['Observation', 'Condition', 'AllergyIntolerance', 'Encounter'])
    if (singlePatientReference(text, MEMBERS) !== undefined) told += 1
    assert.equal(patients.ofVersion(toVersion(type, text), OWN), parsed(type, text), `${type} ${text}`)
  }
  assert.ok(told > 1_000, `only ${told} were told without being parsed`)
})

test.run()

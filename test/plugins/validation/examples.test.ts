/**
 * Examples of R4 are accepted, but for those that break R4's own rules: those with each element in each of its shapes, and all
 * of them with ALL_EXAMPLES=1.
 */
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { createStructureValidator } from '../../../plugins/validation/structure/validator.ts'
import { readChosen } from '../../support/chosen-examples.ts'
import { atLeast, r4Definitions, r4Files, r4Json, r4Part, r4Text } from './r4.ts'

const validator = createStructureValidator(r4Definitions())

const NO_BASE = ['required SearchParameter.base'] // SearchParameter.base is 1..*
const NOTHING_TO_SEE = (type: string) => [`invariant ${type}.text.div`] // a div without text or image: txt-2

/** The examples at fault, with all that is wrong with them. */
const AT_FAULT: Readonly<Record<string, readonly string[]>> = {
  'ActivityDefinition-blood-tubes-supply.json': NOTHING_TO_SEE('ActivityDefinition'),
  'ActivityDefinition-heart-valve-replacement.json': NOTHING_TO_SEE('ActivityDefinition'),
  'EventDefinition-example.json': NOTHING_TO_SEE('EventDefinition'),
  'Questionnaire-zika-virus-exposure-assessment.json': NOTHING_TO_SEE('Questionnaire'),
  // Made by the publishing tool, without name and status, which are 1..1.
  'ImplementationGuide-fhir.json': ['required ImplementationGuide.name', 'required ImplementationGuide.status'],
  // The placeholder urn:oid:X.Y.Z is no OID.
  'Library-zika-virus-intervention-logic.json': [
    'value Library.dataRequirement[0].codeFilter[0].valueSet',
    'value Library.dataRequirement[1].codeFilter[0].valueSet',
  ],
  'SearchParameter-codesystem-extensions-CodeSystem-author.json': NO_BASE,
  'SearchParameter-codesystem-extensions-CodeSystem-effective.json': NO_BASE,
  'SearchParameter-codesystem-extensions-CodeSystem-end.json': NO_BASE,
  'SearchParameter-codesystem-extensions-CodeSystem-keyword.json': NO_BASE,
  'SearchParameter-codesystem-extensions-CodeSystem-workflow.json': NO_BASE,
  'SearchParameter-valueset-extensions-ValueSet-author.json': NO_BASE,
  'SearchParameter-valueset-extensions-ValueSet-effective.json': NO_BASE,
  'SearchParameter-valueset-extensions-ValueSet-end.json': NO_BASE,
  'SearchParameter-valueset-extensions-ValueSet-keyword.json': NO_BASE,
  'SearchParameter-valueset-extensions-ValueSet-workflow.json': NO_BASE,
  // 78 characters are more than the 64 of an id.
  'SearchParameter-questionnaireresponse-extensions-QuestionnaireResponse-item-subject.json': [
    'value SearchParameter.id',
  ],
}

/** Display items without linkId, which is 1..1: too many to list. */
const NO_LINK_ID = 'Questionnaire-qs1.json'

const members = (value: unknown): number => {
  if (typeof value !== 'object' || value === null) return 0
  let count = Array.isArray(value) ? 0 : Object.keys(value).length
  for (const inner of Object.values(value)) count += members(inner)
  return count
}

test('every example but those at fault is accepted, and all members of it are seen', () => {
  let accepted = 0
  for (const file of r4Part()) {
    if (file in AT_FAULT || file === NO_LINK_ID) continue
    const text = readChosen(file)
    const resource = JSON.parse(text)
    assert.equal(validator.validate(resource, { text }), [], file)
    assert.is(validator.keys, members(resource), file)
    accepted++
  }
  assert.ok(accepted > atLeast(650, 5_200), String(accepted))
})

test('the examples at fault have exactly the faults that are known', () => {
  for (const [file, faults] of Object.entries(AT_FAULT)) {
    const issues = validator.validate(r4Json(file))
    assert.equal(
      issues.map(({ code, expression }) => `${code} ${expression}`).toSorted(),
      faults.toSorted(),
      `${file}: ${issues[0]?.diagnostics}`,
    )
  }
  const issues = validator.validate(r4Json(NO_LINK_ID), { limit: 10_000 })
  assert.ok(issues.length > 10)
  for (const { code, expression } of issues)
    assert.match(`${code} ${expression}`, /^required Questionnaire\.item.*\.linkId$/)
})

/** An object with members in another order, or with one changed, so that no path through the code is left to luck. */
const everyObject = function* (value: any): Generator<Record<string, unknown>> {
  if (typeof value !== 'object' || value === null) return
  if (!Array.isArray(value)) yield value
  for (const inner of Object.values(value)) yield* everyObject(inner)
}

test('the order of the members does not matter', () => {
  for (const file of r4Files().filter((name) => /^(Patient|Observation|Claim|CarePlan|Questionnaire)-/.test(name))) {
    if (file in AT_FAULT || file === NO_LINK_ID) continue
    const reversed = JSON.parse(r4Text(file), (_key, value) =>
      typeof value === 'object' && value !== null && !Array.isArray(value)
        ? Object.fromEntries(Object.entries(value).reverse())
        : value,
    )
    assert.equal(validator.validate(reversed), [], file)
  }
})

test('an unknown member, a null or an empty object anywhere in any example is refused', () => {
  const types = new Map<string, string>()
  for (const file of r4Files()) {
    const type = file.slice(0, file.indexOf('-'))
    if (!types.has(type) && !(file in AT_FAULT)) types.set(type, file)
  }
  let changed = 0
  for (const file of types.values()) {
    const text = r4Text(file)
    if (text.length > 60_000) continue
    const resource = JSON.parse(text)
    for (const object of [...everyObject(resource)].slice(0, 30)) {
      object.notAnElement = 1
      assert.is(validator.validate(resource)[0]?.code, 'structure', `${file}: an unknown member is accepted`)
      delete object.notAnElement
      for (const key of Object.keys(object)) {
        const value = object[key]
        for (const wrong of [null, {}, []]) {
          object[key] = wrong
          assert.ok(validator.validate(resource).length > 0, `${file}: ${key}: ${JSON.stringify(wrong)} is accepted`)
          changed++
        }
        // A single value as an array and an array as a single value.
        object[key] = Array.isArray(value) ? value[0] : [value]
        assert.ok(
          validator.validate(resource).length > 0,
          `${file}: ${key}: ${JSON.stringify(object[key]).slice(0, 80)}`,
        )
        object[key] = value
      }
    }
    assert.equal(validator.validate(resource), [], file)
  }
  assert.ok(types.size > 100 && changed > 5_000, `${types.size} types, ${changed} changes`)
})

test.run()

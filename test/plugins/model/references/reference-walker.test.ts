/**
 * Links of resources: found by what the StructureDefinitions say, replaced in the text as it was sent. On every fourth R4
 * example, without the Bundles that repeat others; on all with `EXAMPLES=all` in the environment.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { applyEdits, endOfValue, itemsAt, membersAt } from '../../../../plugins/model/json/ranges.ts'
import { compileReferencePaths } from '../../../../plugins/model/references/compile-reference-paths.ts'
import { createReferenceWalker, type ReferenceWalker } from '../../../../plugins/model/references/reference-walker.ts'
import { rewriteReferences } from '../../../../plugins/model/references/rewrite.ts'
import { REPEATING } from '../../../support/repeating-bundles.ts'
import { examplesFolder } from '../../../support/stub-definitions.ts'

const names = readdirSync(examplesFolder).filter((name) => name.endsWith('.json') && name !== 'package.json')
const some = process.env.EXAMPLES === 'all' ? names : names.filter((name, at) => at % 4 === 0 && !REPEATING.has(name))
const textOf = (name: string): string => readFileSync(join(examplesFolder, name), 'utf8')
const structures = names
  .filter((name) => name.startsWith('StructureDefinition-'))
  .map((name) => JSON.parse(textOf(name)))
const stored = compileReferencePaths(structures)
const walker: ReferenceWalker = createReferenceWalker(JSON.parse(JSON.stringify(stored)))

type Json = Record<string, any>

/** Members that are one type of a choice somewhere: elsewhere the same name may be an element of its own. */
const ELEMENTS = new Map(Object.values(stored.choices).flatMap((one) => Object.entries(one)))
const loosely = (path: string): string => path.replace(/[A-Za-z_]+/g, (name) => ELEMENTS.get(name) ?? name)

/** Everything that looks like a Reference, with its FHIRPath. */
const lookalikes = (value: unknown, path: string, found: string[]): string[] => {
  if (Array.isArray(value)) {
    for (const [at, item] of value.entries()) lookalikes(item, `${path}[${at}]`, found)
  } else if (typeof value === 'object' && value !== null) {
    if (typeof (value as Json).reference === 'string') found.push(path)
    for (const [key, child] of Object.entries(value)) lookalikes(child, `${path}.${key.replace(/^_/, '')}`, found)
  }
  return found
}

// DetectedIssue.reference is a uri.
const NO_REFERENCE = /^DetectedIssue$/

test('every reference of every R4 example is found, with its path', () => {
  let count = 0
  for (const name of some) {
    const resource = JSON.parse(textOf(name)) as Json
    if (typeof resource.resourceType !== 'string') continue
    const found = walker.references(resource)
    const paths = walker.paths(resource)
    assert.is(found.length, paths.length)
    const known = new Set(paths.map(loosely))
    const missed = lookalikes(resource, resource.resourceType, []).filter(
      (path) => !known.has(loosely(path)) && !NO_REFERENCE.test(path),
    )
    assert.equal(missed, [], name)
    count += found.length
  }
  assert.ok(count > 400, `${count} references`)
})

test('the types an element allows come from its definition, in extensions from the definition of the extension', () => {
  const targetsOf = (resource: Json): Record<string, readonly string[]> => {
    const paths = walker.paths(resource)
    return Object.fromEntries(walker.references(resource).map(({ targets }, at) => [paths[at], targets]))
  }
  assert.equal(
    targetsOf({
      resourceType: 'Patient',
      managingOrganization: { reference: 'Organization/1' },
      generalPractitioner: [{ reference: 'Practitioner/1' }],
      contact: [{ organization: { reference: 'Organization/2' } }],
      _birthDate: { extension: [{ url: 'http://example.org/any', valueReference: { reference: 'Basic/1' } }] },
      identifier: [{ assigner: { display: 'x', identifier: { assigner: { reference: 'Organization/3' } } } }],
      contained: [{ resourceType: 'Observation', id: 'o', device: { reference: 'Device/1' } }],
      extension: [
        {
          url: 'http://hl7.org/fhir/StructureDefinition/patient-nationality',
          extension: [{ url: 'code', valueReference: { reference: 'Basic/2' } }],
        },
        {
          url: 'http://hl7.org/fhir/StructureDefinition/workflow-episodeOfCare',
          valueReference: { reference: 'EpisodeOfCare/1' },
        },
      ],
    }),
    {
      'Patient.managingOrganization': ['Organization'],
      'Patient.generalPractitioner[0]': ['Organization', 'Practitioner', 'PractitionerRole'],
      'Patient.contact[0].organization': ['Organization'],
      'Patient.birthDate.extension[0].value': [],
      'Patient.identifier[0].assigner': ['Organization'],
      'Patient.identifier[0].assigner.identifier.assigner': ['Organization'],
      'Patient.contained[0].device': ['Device', 'DeviceMetric'],
      'Patient.extension[0].extension[0].value': [],
      'Patient.extension[1].value': ['EpisodeOfCare'],
    },
  )
})

test('replacing every link by itself leaves the text of every example as it is, and by another changes only links', () => {
  for (const name of some) {
    const text = textOf(name)
    const resource = JSON.parse(text) as Json
    if (typeof resource.resourceType !== 'string') continue
    const seen: string[] = []
    const same = rewriteReferences(walker, text, structuredClone(resource), (value, kind) => {
      if (kind === 'reference') seen.push(value)
      return undefined
    })
    assert.ok(same === text, name)
    const expected = walker
      .references(resource)
      .flatMap(({ value }) => (typeof value.reference === 'string' ? [value.reference] : []))
    assert.equal([...seen].sort(), [...expected].sort(), name)
    const changed = rewriteReferences(walker, text, resource, (value, kind) =>
      kind === 'reference' ? `Basic/"${value}é` : `urn:x:${value}`,
    )
    assert.equal(JSON.parse(changed), resource, name)
    const after = walker
      .references(resource)
      .flatMap(({ value }) => (typeof value.reference === 'string' ? [value.reference] : []))
    assert.equal(
      after,
      expected.map((one) => `Basic/"${one}é`),
      name,
    )
  }
})

const URN = 'urn:uuid:0c3151bd-1cbf-4d64-b04d-cd9187a4c6e0'
const rewrite = (resource: Json, text = JSON.stringify(resource)): Json => {
  const changed = rewriteReferences(walker, text, resource, (value) => (value === URN ? 'Patient/1' : undefined))
  assert.equal(JSON.parse(changed), resource)
  return resource
}

test('links stand in references, in elements of type uri and url, and in narratives; oids and uuids stay', () => {
  assert.equal(
    rewrite({
      resourceType: 'Basic',
      subject: { reference: URN, display: URN },
      extension: [
        { url: 'http://example.org/a', valueUri: URN },
        { url: 'http://example.org/b', valueUrl: URN },
        { url: 'http://example.org/c', valueUuid: URN },
        { url: 'http://example.org/d', valueOid: URN },
      ],
    }),
    {
      resourceType: 'Basic',
      subject: { reference: 'Patient/1', display: URN },
      extension: [
        { url: 'http://example.org/a', valueUri: 'Patient/1' },
        { url: 'http://example.org/b', valueUrl: 'Patient/1' },
        { url: 'http://example.org/c', valueUuid: URN },
        { url: 'http://example.org/d', valueOid: URN },
      ],
    },
  )
  const div = `<div xmlns="http://www.w3.org/1999/xhtml"><a class="x" href="${URN}">a</a><img alt='' src='${URN}'/><a href="http://x">${URN}</a></div>`
  assert.is(
    rewrite({ resourceType: 'Basic', text: { status: 'generated', div } }).text.div,
    div.replace(`href="${URN}"`, 'href="Patient/1"').replace(`src='${URN}'`, "src='Patient/1'"),
  )
})

test('canonicals, strings and identifiers keep what looks like a link', () => {
  const resource = {
    resourceType: 'Observation',
    instantiatesCanonical: URN,
    meta: { profile: [URN] },
    identifier: [{ system: 'urn:ietf:rfc:3986', value: URN }],
    valueString: URN,
    code: { coding: [{ code: URN, display: URN }] },
    extension: [{ url: 'http://example.org/a', valueCanonical: URN }],
  }
  assert.equal(rewrite(structuredClone(resource)), resource)
})

test('escaped spellings, blanks, nulls and digits are no obstacle', () => {
  const text = `{ "resourceType" : "Observation",
    "v\\u0061lueQuantity" : { "value" : 1.00 } , "subj\\u0065ct":\t{ "refer\\u0065nce" : "urn:uuid\\u003a0c3151bd-1cbf-4d64-b04d-cd9187a4c6e0" },
    "_issued": null, "performer" : [ ] , "focus":[null, {"reference":"${URN}"}] }`
  const resource = JSON.parse(text) as Json
  const changed = rewriteReferences(walker, text, resource, (value) => (value === URN ? 'Patient/1' : undefined))
  assert.is(
    changed,
    text
      .replace('"urn:uuid\\u003a0c3151bd-1cbf-4d64-b04d-cd9187a4c6e0"', '"Patient/1"')
      .replace(`"${URN}"`, '"Patient/1"'),
  )
  assert.equal(JSON.parse(changed), resource)
})

test('a narrative of a megabyte of unfinished tags is looked through at once', () => {
  const div = '<a href = '.repeat(100_000) + '<img src="'.repeat(10_000)
  const started = performance.now()
  rewrite({ resourceType: 'Basic', text: { status: 'generated', div } })
  assert.ok(performance.now() - started < 5_000) // by the square it takes minutes
})

test('spans are those of the values of every example', () => {
  for (const name of some) {
    const text = textOf(name)
    const resource = JSON.parse(text) as Json
    const start = text.indexOf('{')
    const members = membersAt(text, start)
    assert.equal(
      members.map(({ key }) => key),
      Object.keys(resource),
      name,
    )
    for (const { key, valueStart, valueEnd } of members) {
      assert.equal(JSON.parse(text.slice(valueStart, valueEnd)), resource[key])
      if (Array.isArray(resource[key]))
        assert.equal(
          itemsAt(text, valueStart).map((span) => JSON.parse(text.slice(span.start, span.end))),
          resource[key],
        )
    }
    assert.is(endOfValue(text, start), text.trimEnd().length)
  }
  assert.is(
    applyEdits('abcdef', [
      { start: 1, end: 2, text: 'X' },
      { start: 4, end: 4, text: 'YY' },
    ]),
    'aXcdYYef',
  )
})

test.run()

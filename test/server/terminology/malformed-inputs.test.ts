/** Wrong shapes in resources that a request brings are the client's error: 400, and never 500. */
// database: sqlite, because what a request brings is read in the process
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import database from '../../../plugins/database/index.ts'
import terminology from '../../../plugins/terminology/index.ts'
import { fhirPlugins } from '../../support/fhir-plugins.ts'
import { serverWith } from '../../support/server-with.ts'
import { stubDefinitions } from '../../support/stub-definitions.ts'

type Json = Record<string, any>

const CS = 'http://cs.example'
const VS = 'http://vs.example'
const CM = 'http://cm.example'
const TO = 'http://to.example'
const WRONG = [null, 1, 'x', [], {}, [null], [[]], [1], [{}], { a: 1 }, true]

const codeSystem = (): Json => ({
  ...{ resourceType: 'CodeSystem', url: CS, status: 'active', content: 'complete' },
  property: [{ code: 'p', type: 'string' }],
  filter: [{ code: 'p', operator: ['='], value: 'x' }],
  concept: [{ code: 'a', display: 'A', designation: [{ value: 'x' }], property: [{ code: 'p', valueString: 'x' }] }],
})
const valueSet = (): Json => ({
  ...{ resourceType: 'ValueSet', url: VS, status: 'active' },
  compose: {
    include: [{ system: CS, concept: [{ code: 'a', designation: [{ value: 'x' }] }] }],
    exclude: [{ system: CS, filter: [{ property: 'p', op: '=', value: 'y' }] }],
  },
})
const conceptMap = (): Json => ({
  ...{ resourceType: 'ConceptMap', url: CM, status: 'active' },
  group: [
    {
      ...{ source: CS, target: TO, unmapped: { mode: 'fixed', code: 'z' } },
      element: [{ code: 'a', target: [{ code: 'b', equivalence: 'equal', dependsOn: [], product: [] }] }],
    },
  ],
})

/** Elements that are replaced; a number is the index in a list. */
const PLACES: Readonly<Record<string, readonly (readonly (string | number)[])[]>> = {
  CodeSystem: [
    ...[['concept'], ['property'], ['filter'], ['version'], ['content'], ['url'], ['language'], ['extension']],
    ...['designation', 'property', 'concept', 'code', 'display', 'definition'].map((name) => ['concept', 0, name]),
    ...[['concept', 0, 'designation', 0, 'use'], ['hierarchyMeaning'], ['caseSensitive'], ['supplements']],
  ],
  ValueSet: [
    ...[['compose'], ['compose', 'include'], ['compose', 'exclude'], ['expansion'], ['contained'], ['extension']],
    ...['concept', 'filter', 'valueSet', 'system', 'version'].map((name) => ['compose', 'include', 0, name]),
    ...['property', 'op', 'value'].map((name) => ['compose', 'exclude', 0, 'filter', 0, name]),
    ...[
      ['compose', 'include', 0, 'concept', 0, 'designation'],
      ['compose', 'inactive'],
      ['compose', 'lockedDate'],
    ],
  ],
  ConceptMap: [
    ...[['group'], ['group', 0, 'element'], ['group', 0, 'element', 0, 'target'], ['group', 0, 'unmapped']],
    ...['dependsOn', 'product', 'code', 'equivalence'].map((name) => ['group', 0, 'element', 0, 'target', 0, name]),
    ...[['group', 0, 'source'], ['group', 0, 'target'], ['group', 0, 'element', 0, 'code'], ['sourceUri']],
  ],
}

const brought = (resource: Json) => ({ name: 'tx-resource', resource })
const uri = (name: string, valueUri: string) => ({ name, valueUri })
const code = (valueCode: string) => ({ name: 'code', valueCode })
/** Requests that use the resource. */
const requestsWith: Readonly<Record<string, (resource: Json) => readonly (readonly [string, readonly Json[]])[]>> = {
  CodeSystem: (resource) => [
    ['/ValueSet/$expand', [uri('url', VS), brought(resource), brought(valueSet())]],
    ['/CodeSystem/$validate-code', [{ name: 'codeSystem', resource }, code('a')]],
    ['/CodeSystem/$lookup', [uri('system', CS), code('a'), brought(resource)]],
  ],
  ValueSet: (resource) => [
    ['/ValueSet/$expand', [{ name: 'valueSet', resource }, brought(codeSystem())]],
    ['/ValueSet/$validate-code', [{ name: 'valueSet', resource }, code('a'), uri('system', CS), brought(codeSystem())]],
    ['/ValueSet/$expand', [uri('url', VS), brought(resource), brought(codeSystem())]],
  ],
  ConceptMap: (resource) => [
    ['/ConceptMap/$translate', [{ name: 'conceptMap', resource }, code('a'), uri('system', CS)]],
    [
      '/ConceptMap/$translate',
      [uri('url', CM), brought(resource), code('b'), uri('system', TO), { name: 'reverse', valueBoolean: true }],
    ],
  ],
}
const made = { CodeSystem: codeSystem, ValueSet: valueSet, ConceptMap: conceptMap }

for (const [type, places] of Object.entries(PLACES))
  test(`a wrong shape anywhere in a ${type} of a request is no error of the server`, async () => {
    const server = await serverWith({ plugins: [database, stubDefinitions('all'), ...fhirPlugins, terminology] })
    const failed: string[] = []
    const counts: Record<number, number> = {}
    for (const place of places)
      for (const wrong of WRONG) {
        const resource = made[type as keyof typeof made]()
        const within = place.slice(0, -1).reduce<Json>((at, name) => (at[name] ??= {}), resource)
        within[place.at(-1) as string] = wrong
        for (const [url, parameter] of requestsWith[type]!(resource)) {
          const payload = JSON.stringify({ resourceType: 'Parameters', parameter })
          const headers = { 'content-type': 'application/fhir+json' }
          const { statusCode, body } = await server.inject({ method: 'POST', url, headers, payload })
          counts[statusCode] = (counts[statusCode] ?? 0) + 1
          if (statusCode >= 500)
            failed.push(`${url} ${place.join('.')} ${JSON.stringify(wrong)}: ${body.slice(0, 200)}`)
        }
      }
    await server.stop()
    assert.equal(failed, [])
    assert.ok((counts[400] ?? 0) > 50, JSON.stringify(counts))
  })

test.run()

/** What a thread makes of a body is what the main thread makes of it: the answer, what is stored, and its index rows. */
// database: sqlite, because what a thread makes is computed in the process and compared there; large/turns.test.ts is on each kind
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { examplesFolder } from '../../support/stub-definitions.ts'
import { type Asked, type TwoServers, twoServers } from './two-servers.ts'

let servers: TwoServers
test.before(async () => {
  // Many refer to what the package does not hold.
  servers = await twoServers({ reference_policy: 'fhir', conditional_delete: 'multiple' })
})
test.after(() => servers.stop())

const both = (asked: Asked) => servers.both(asked)
const sameRows = () => servers.sameRows()

const files = readdirSync(examplesFolder).filter((name) => /^[A-Z].*\.json$/.test(name))
/**
 * Of each type the test takes the example with the most elements, and the one that adds the most elements to it. The four
 * largest examples have no more elements. It chooses among the larger examples that are below a limit.
 */
const LOOKED_AT = 40
const MAX_BYTES = 50_000
const sizeOf = (name: string): number => statSync(join(examplesFolder, name)).size
/** Adds the paths of all values. */
const addPaths = (value: unknown, path: string, paths: Set<string>): Set<string> => {
  if (Array.isArray(value)) for (const one of value) addPaths(one, path, paths)
  else if (typeof value === 'object' && value !== null)
    for (const [name, one] of Object.entries(value)) addPaths(one, `${path}.${name}`, paths)
  else paths.add(path)
  return paths
}
const pathsOf = (name: string): ReadonlySet<string> =>
  addPaths(JSON.parse(readFileSync(join(examplesFolder, name), 'utf8')), '', new Set())
const twoOf = (names: readonly string[]): readonly string[] => {
  const found = names
    .map((name) => ({ name, size: sizeOf(name) }))
    .filter(({ size }, _at, { length }) => size < MAX_BYTES || length === 1)
    .sort((one, other) => other.size - one.size)
    .slice(0, LOOKED_AT)
    .map(({ name }) => ({ name, paths: pathsOf(name) }))
  const richest = (seen: ReadonlySet<string>) =>
    found
      .map(({ name, paths }) => ({ name, paths, more: [...paths].filter((path) => !seen.has(path)).length }))
      .reduce((best, one) => (one.more > best.more ? one : best))
  const first = richest(new Set())
  const second = richest(first.paths)
  return second.more === 0 ? [first.name] : [first.name, second.name]
}
const chosen =
  process.env.ALL_EXAMPLES === undefined
    ? [...Map.groupBy(files, (name) => name.slice(0, name.indexOf('-'))).values()].flatMap(twoOf)
    : files

test('examples of all types are put, answered, refused and indexed the same way by a thread', async () => {
  let refused = 0
  for (const name of chosen) {
    const payload = readFileSync(join(examplesFolder, name), 'utf8')
    const { resourceType, id } = JSON.parse(payload) as { resourceType: string; id: string }
    const url = `/${resourceType}/${id}`
    const { statusCode } = await both({ method: 'PUT', url, payload, prefer: 'return=OperationOutcome' })
    if (statusCode !== 201) refused += 1
    else await both({ method: 'GET', url })
  }
  assert.ok(refused < chosen.length / 5, `${refused} of ${chosen.length} were refused`)
  assert.ok((await sameRows()) > chosen.length)
})

const patient = { resourceType: 'Patient', id: 'p', name: [{ family: 'Chalmers', given: ['Peter'] }], gender: 'male' }

test('an update, a patch, labels, another form and a deletion are the same', async () => {
  const url = '/Patient/p'
  const put = (resource: object) => both({ method: 'PUT', url, payload: JSON.stringify(resource) })
  await put(patient)
  await put({ ...patient, name: [{ family: 'Windsor' }], contact: [{ name: { family: 'du Marché' } }] })
  await put({
    ...patient,
    contained: [{ resourceType: 'Organization', id: 'o', name: 'Acme' }],
    managingOrganization: { reference: '#o' },
  })
  await sameRows()
  const operations = JSON.stringify([{ op: 'replace', path: '/gender', value: 'female' }])
  await both({ method: 'PATCH', url, payload: operations, type: 'application/json-patch+json' })
  await both({ method: 'PATCH', url, payload: '{"active":true}', type: 'application/merge-patch+json' })
  await both({ method: 'PATCH', url, payload: '[{"op":"remove","path":"/none"}]', type: 'application/json-patch+json' })
  const path = {
    name: 'operation',
    part: [
      { name: 'type', valueCode: 'replace' },
      { name: 'path', valueString: 'Patient.active' },
      { name: 'value', valueBoolean: false },
    ],
  }
  await both({ method: 'PATCH', url, payload: JSON.stringify({ resourceType: 'Parameters', parameter: [path] }) })
  const meta = { name: 'meta', valueMeta: { tag: [{ system: 'http://example.org', code: 'x' }] } }
  await both({
    method: 'POST',
    url: `${url}/$meta-add`,
    payload: JSON.stringify({ resourceType: 'Parameters', parameter: [meta] }),
  })
  await sameRows()
  for (const query of [
    '',
    '?_summary=true',
    '?_elements=gender',
    '?_pretty=true',
    '/_history',
    '/_history?_summary=true',
  ])
    await both({ method: 'GET', url: url + query })
  for (const query of ['?gender=female', '?name=chal', '?_tag=x&_elements=gender', '?_summary=data'])
    await both({ method: 'GET', url: `/Patient${query}` })
  await both({ method: 'DELETE', url })
  await both({ method: 'GET', url })
  await both({ method: 'PUT', url, payload: JSON.stringify(patient) })
  await sameRows()
})

test('Bundles, $validate and what is broken are the same', async () => {
  const entry = (n: number, method: string, url: string, resource?: object) => ({
    fullUrl: `urn:uuid:00000000-0000-4000-8000-00000000000${n}`,
    ...(resource === undefined ? {} : { resource }),
    request: { method, url },
  })
  for (const type of ['transaction', 'batch']) {
    const bundle = {
      resourceType: 'Bundle',
      type,
      entry: [
        entry(1, 'POST', 'Patient', { resourceType: 'Patient', name: [{ family: type }] }),
        entry(2, 'POST', 'Observation', {
          resourceType: 'Observation',
          status: 'final',
          code: { text: 'weight' },
          subject: { reference: 'urn:uuid:00000000-0000-4000-8000-000000000001' },
        }),
        entry(3, 'PUT', 'Patient/p', { ...patient, birthDate: '1974-12-25' }),
        entry(4, 'GET', 'Patient/p'),
      ],
    }
    await both({ method: 'POST', url: '/', payload: JSON.stringify(bundle) })
    await both({ method: 'POST', url: '/', payload: JSON.stringify({ ...bundle, entry: [...bundle.entry, 1] }) })
    await both({ method: 'POST', url: '/', payload: JSON.stringify({ ...bundle, entry: { x: 1 } }) })
  }
  await both({ method: 'POST', url: '/', payload: JSON.stringify({ resourceType: 'Bundle', type: 'batch' }) })
  await both({ method: 'POST', url: '/', payload: JSON.stringify({ resourceType: 'Patient' }) })
  const given = { name: 'resource', resource: { resourceType: 'Patient', gender: 'none', birthDate: 'yesterday' } }
  const parameters = JSON.stringify({ resourceType: 'Parameters', parameter: [given] })
  await both({ method: 'POST', url: '/Patient/$validate', payload: parameters })
  await both({ method: 'POST', url: '/Patient/$validate', payload: JSON.stringify(patient) })
  await both({ method: 'POST', url: '/Patient/$validate?mode=create', payload: JSON.stringify(patient) })
  await both({ method: 'POST', url: '/Patient/$validate', payload: '{"resourceType":"Parameters","parameter":[1]}' })
  await both({ method: 'GET', url: '/Patient/p/$validate' })
  const broken = [
    '',
    '{',
    '[]',
    '{"resourceType":"Patient","gender":"male","gender":"female"}',
    '{"resourceType":"Observation"}',
    '{"resourceType":"Patient","id":"a b"}',
    '{"resourceType":"Patient","active":1.0,"name":[{}]}',
    '{"resourceType":"Patient","gender":"none"}',
    '{"resourceType":"Patient","text":{"status":"generated","div":"<div>"}}',
    '{"resourceType":"Patient","managingOrganization":{"reference":"Patient/p"}}',
    '{"resourceType":"Patient","contained":[{"resourceType":"Organization","id":"o"}]}',
    '\ufeff{"resourceType":"Patient","active":true}',
  ]
  for (const payload of broken) await both({ method: 'POST', url: '/Patient', payload })
  await sameRows()
})

test.run()

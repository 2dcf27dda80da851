/** $closure. https://hl7.org/fhir/R4/terminology-service.html#closure */
// npm test: sqlite and postgres, whose statements differ
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import database from '../../../plugins/database/index.ts'
import terminology from '../../../plugins/terminology/index.ts'
import { fhirPlugins } from '../../support/fhir-plugins.ts'
import { createManualClock } from '../../support/manual-clock.ts'
import { named } from '../../support/named-callers.ts'
import { serverWith, type TestServer } from '../../support/server-with.ts'
import { stubDefinitions } from '../../support/stub-definitions.ts'

let server: TestServer
const clock = createManualClock(Date.now())
const headers = { 'content-type': 'application/fhir+json' }
const [ANIMALS, PLANTS] = ['http://animals.example', 'http://plants.example']

test.before(async () => {
  server = await serverWith({
    plugins: [database, stubDefinitions('all'), ...fhirPlugins, terminology, named],
    settings: { conformance: { update_as_create: true } },
    clock,
  })
  const nested = (code: string, concept: readonly object[] = []) => ({ code, ...(concept.length > 0 && { concept }) })
  const put = async (id: string, resource: object): Promise<void> => {
    const payload = JSON.stringify({
      resourceType: 'CodeSystem',
      id,
      status: 'active',
      content: 'complete',
      ...resource,
    })
    const answer = await server.inject({ method: 'PUT', url: `/CodeSystem/${id}`, headers, payload })
    assert.ok(answer.statusCode < 300, answer.body)
  }
  await put('animals', {
    url: ANIMALS,
    version: '1',
    caseSensitive: true,
    concept: [nested('animal', [nested('mammal', [nested('dog', [nested('poodle')]), nested('cat')]), nested('fish')])],
  })
  await put('plants', { url: PLANTS, concept: [nested('plant', [nested('rose')])] })
  await put('grouped', { url: 'http://grouped.example', hierarchyMeaning: 'grouped-by', concept: [nested('x')] })
})
test.after(() => server.stop())

interface Options {
  readonly caller?: string
  readonly version?: string
}
const send = async (
  name: string,
  codes: readonly (readonly [string, string])[] = [],
  { caller, version }: Options = {},
) => {
  const parameter = [
    { name: 'name', valueString: name },
    ...codes.map(([system, code]) => ({ name: 'concept', valueCoding: { system, code } })),
    ...(version === undefined ? [] : [{ name: 'version', valueString: version }]),
  ]
  const answer = await server.inject({
    method: 'POST',
    url: '/$closure',
    headers: { ...headers, ...(caller !== undefined && { 'x-test-client': caller }) },
    payload: JSON.stringify({ resourceType: 'Parameters', parameter }),
  })
  const body = answer.json() as any
  const entries = ((body.group ?? []) as any[]).flatMap(({ element }) =>
    element.flatMap(({ code, target }: any) => target.map((one: any) => `${code}<${one.code}`)),
  )
  return { status: answer.statusCode, body, version: body.version, entries: entries.join(' ') }
}
const animals = (...codes: readonly string[]) => codes.map((code) => [ANIMALS, code] as const)

test('a name alone begins a closure, and concepts add to it: the answer has what is new', async () => {
  const begun = await send('first')
  assert.is(begun.status, 200, JSON.stringify(begun.body))
  assert.is(begun.body.resourceType, 'ConceptMap')
  assert.is(begun.version, '0')
  assert.is(begun.body.group, undefined)
  const one = await send('first', animals('dog', 'mammal'))
  assert.is(one.version, '1')
  assert.equal(one.body.group, [
    {
      source: ANIMALS,
      target: ANIMALS,
      element: [{ code: 'dog', target: [{ code: 'mammal', equivalence: 'subsumes' }] }],
    },
  ])
  const above = await send('first', animals('animal'))
  assert.is(above.version, '2')
  assert.is([...above.entries.split(' ')].sort().join(' '), 'dog<animal mammal<animal')
  assert.is((await send('first', animals('poodle'))).entries, 'poodle<dog poodle<mammal poodle<animal')
})

test('what is there already adds nothing and keeps the version; unrelated codes add no entries', async () => {
  await send('again')
  await send('again', animals('dog', 'animal'))
  const again = await send('again', animals('dog'))
  assert.equal([again.version, again.entries], ['1', ''])
  const unrelated = await send('again', [[PLANTS, 'rose']])
  assert.equal([unrelated.version, unrelated.entries], ['2', ''])
  const plant = await send('again', [[PLANTS, 'plant'], ...animals('cat')])
  assert.equal(plant.body.group.map(({ source }: any) => source).sort(), [ANIMALS, PLANTS])
  assert.is([...plant.entries.split(' ')].sort().join(' '), 'cat<animal rose<plant')
})

test('with a version all entries since then are sent again, also together with new concepts', async () => {
  await send('replayed')
  await send('replayed', animals('dog', 'mammal'))
  await send('replayed', animals('animal'))
  const all = await send('replayed', [], { version: '0' })
  assert.is(all.version, '2')
  assert.is(all.entries, 'dog<animal dog<mammal mammal<animal')
  assert.is((await send('replayed', [], { version: '1' })).entries, 'dog<animal mammal<animal')
  assert.is((await send('replayed', [], { version: '2' })).entries, '')
  const both = await send('replayed', animals('cat'), { version: '1' })
  assert.is(both.version, '3')
  assert.is(both.entries, 'cat<animal cat<mammal dog<animal mammal<animal')
  const ahead = await send('replayed', [], { version: '9' })
  assert.is(ahead.status, 400)
  assert.is((await send('replayed', [], { version: 'x' })).status, 400)
})

test('a name alone begins it anew', async () => {
  await send('anew')
  await send('anew', animals('dog', 'mammal'))
  assert.is((await send('anew')).version, '0')
  assert.is((await send('anew', [], { version: '0' })).entries, '')
  assert.is((await send('anew', animals('dog'))).entries, '')
})

test('a closure that was not begun, and codes that are not known, are refused, and nothing is stored', async () => {
  const absent = await send('absent', animals('dog'))
  assert.is(absent.status, 404)
  assert.match(absent.body.issue[0].diagnostics, 'absent')
  await send('refusing')
  const unknown = await send('refusing', animals('dog', 'unicorn'))
  assert.is(unknown.status, 404)
  assert.match(unknown.body.issue[0].diagnostics, 'unicorn')
  assert.is((await send('refusing', animals('mammal'))).entries, '')
  assert.is((await send('refusing', [['http://absent.example', 'x']])).status, 404)
  assert.is((await send('refusing', [['http://grouped.example', 'x']])).status, 400)
  assert.is((await send('x'.repeat(201))).status, 400)
  assert.is((await server.inject('/$closure?name=refusing')).statusCode, 405)
})

test('closures of other callers are not touched', async () => {
  await send('shared', [], { caller: 'ann' })
  await send('shared', animals('dog', 'mammal'), { caller: 'ann' })
  assert.is((await send('shared', animals('cat'), { caller: 'bob' })).status, 404)
  await send('shared', [], { caller: 'bob' })
  assert.is((await send('shared', [], { caller: 'ann', version: '0' })).entries, 'dog<mammal')
})

test('of more than a hundred closures the one that was used longest ago makes room', async () => {
  const caller = 'carol'
  for (let at = 0; at < 100; at += 1) {
    await clock.advance(1)
    assert.is((await send(`many${at}`, [], { caller })).status, 200)
  }
  await clock.advance(1)
  await send('many0', animals('dog'), { caller })
  await clock.advance(1)
  await send('one more', [], { caller })
  assert.is((await send('many1', animals('dog'), { caller })).status, 404)
  assert.is((await send('many0', animals('cat'), { caller })).status, 200)
})

test('requests at once add each entry once', async () => {
  await send('at once')
  const all = await Promise.all(
    ['dog', 'cat', 'mammal', 'fish', 'animal', 'poodle'].map((code) => send('at once', animals(code))),
  )
  assert.equal(new Set(all.map(({ version }) => version)).size, 6)
  const told = all.flatMap(({ entries }) => entries.split(' ')).filter((one) => one !== '')
  const replayed = (await send('at once', [], { version: '0' })).entries
  assert.is([...told].sort().join(' '), replayed.split(' ').sort().join(' '))
  assert.is(told.length, 9)
})

test('it is no entry of a Bundle', async () => {
  const resource = { resourceType: 'Parameters', parameter: [{ name: 'name', valueString: 'b' }] }
  for (const type of ['batch', 'transaction']) {
    const entry = [{ request: { method: 'POST', url: '$closure' }, resource }]
    const payload = JSON.stringify({ resourceType: 'Bundle', type, entry })
    const answer = await server.inject({ method: 'POST', url: '/', headers, payload })
    assert.match(answer.body, 'request of its own')
  }
})

test.run()

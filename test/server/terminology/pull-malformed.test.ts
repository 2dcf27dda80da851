/** Sources that give malformed definitions, or pages without end: what is taken into use, what is said, what stays. */
// database: sqlite, because what is pulled is checked before it is stored; terminology/pull.test.ts is on each kind
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import database from '../../../plugins/database/index.ts'
import { Database, sql } from '../../../plugins/database/service.ts'
import terminology from '../../../plugins/terminology/index.ts'
import { type PullSummary, TerminologyPull } from '../../../plugins/terminology/service.ts'
import { fhirPlugins } from '../../support/fhir-plugins.ts'
import { serverWith, type TestServer } from '../../support/server-with.ts'
import { terminologyDefinitions } from '../../support/terminology-definitions.ts'
import { startTerminologySource, type TerminologySource } from '../../support/terminology-source.ts'
import { until } from '../../support/until.ts'

type Json = Record<string, any>

const WAIT_MS = 30_000
const plugins = [database, terminologyDefinitions(), ...fhirPlugins, terminology]
const codeSystem = (id: string, concept: unknown): Json => ({
  ...{ resourceType: 'CodeSystem', id, url: `http://systems.example/${id}`, version: '1', status: 'active' },
  ...{ content: 'complete', concept },
})
const valueSet = (id: string, compose: unknown): Json => ({
  ...{ resourceType: 'ValueSet', id, url: `http://sets.example/${id}`, status: 'active', compose },
})
const conceptMap = (id: string, group: unknown): Json => ({
  ...{ resourceType: 'ConceptMap', id, url: `http://maps.example/${id}`, status: 'active', group },
})
const of = (system: string): Json => ({ include: [{ system: `http://systems.example/${system}` }] })

const deep = (levels: number): unknown => {
  let concept: Json[] = [{ code: 'last' }]
  for (let at = 1; at < levels; at += 1) concept = [{ code: `c${at}`, concept }]
  return concept
}
const FAULTS: readonly (readonly [string, Json, RegExp])[] = [
  ['CodeSystem', codeSystem('null', [{ code: 'a' }, null]), /an element of concept is no object/],
  ['CodeSystem', codeSystem('text', 'x'), /concept is no list/],
  [
    'CodeSystem',
    codeSystem('below', [{ code: 'a', concept: [{ display: 'b' }] }]),
    /an element of concept has no code/,
  ],
  ['CodeSystem', codeSystem('number', [{ code: 5 }]), /code is no text/],
  [
    'CodeSystem',
    codeSystem('property', [{ code: 'a', property: [{ code: 'p', valueCoding: null }] }]),
    /valueCoding is/,
  ],
  ['ValueSet', valueSet('null', null), /compose is no object/],
  ['ValueSet', valueSet('include', { include: [null] }), /an element of include is no object/],
  ['ValueSet', valueSet('imported', { include: [{ valueSet: [5] }] }), /an element of valueSet is no text/],
  [
    'ValueSet',
    valueSet('filter', { include: [{ system: 's', filter: [{ property: 'p', op: 'in' }] }] }),
    /has no value/,
  ],
  ['ConceptMap', conceptMap('null', [null]), /an element of group is no object/],
  ['ConceptMap', conceptMap('element', [{ element: [{ code: 'a', target: 'b' }] }]), /target is no list/],
]
/** The status of the answer that uses a definition. */
const used = async (server: TestServer, { resourceType, url }: Json): Promise<number> => {
  const path = {
    CodeSystem: `/CodeSystem/$lookup?system=${url}&code=a`,
    ValueSet: `/ValueSet/$expand?url=${url}`,
    ConceptMap: `/ConceptMap/$translate?url=${url}&system=s&code=a`,
  }[resourceType as string] as string
  return (await server.inject(path)).statusCode
}
const withSource = (name: string, work: (source: TerminologySource, server: TestServer) => Promise<void>): void =>
  test(name, async () => {
    const source = await startTerminologySource()
    const server = await serverWith({ plugins, settings: { terminology: { urls: [source.url] } } })
    try {
      await until(
        async () => server.lines.some(({ msg }) => msg === 'terminology was pulled'),
        WAIT_MS,
        'the pull of the start',
      )
      await work(source, server)
    } finally {
      await server.stop()
      await source.close()
    }
  })
const pull = async (server: TestServer): Promise<PullSummary & { readonly messages: readonly string[] }> => {
  const messages: string[] = []
  const failed = (error: Error): void => void messages.push(error.message)
  return { ...(await server.get(TerminologyPull).run({ isAll: true }, { failed })), messages }
}

for (const [type, definition, fault] of FAULTS)
  withSource(`${type} ${definition.id} that is malformed is not pulled, others are`, async (source, server) => {
    source.definitions.set('CodeSystem', [codeSystem('good', [{ code: 'a' }])])
    source.definitions.set(type, [...(source.definitions.get(type) ?? []), definition])
    const { resources, failed, messages } = await pull(server)
    assert.equal([resources, failed, messages.length], [1, 1, 1])
    const [message] = messages as [string]
    for (const part of [type, definition.url, source.url]) assert.ok(message.includes(part), message)
    assert.match(message, fault)
    assert.is(await used(server, definition), 404)
    assert.is(await used(server, codeSystem('good', [])), 200)
  })

withSource('the last pull of a definition stays when the source breaks it', async (source, server) => {
  source.definitions.set('CodeSystem', [codeSystem('one', [{ code: 'a' }]), codeSystem('gone', [{ code: 'a' }])])
  assert.is((await pull(server)).resources, 2)
  source.definitions.set('CodeSystem', [codeSystem('one', 'x'), codeSystem('new', [{ code: 'a' }])])
  const { resources, failed } = await pull(server)
  assert.equal([resources, failed], [1, 1])
  assert.is(await used(server, codeSystem('one', [])), 200)
  assert.is(await used(server, codeSystem('new', [])), 200)
  assert.is(await used(server, codeSystem('gone', [])), 404)
})

test('the pull of a start warns of a malformed definition', async () => {
  const source = await startTerminologySource()
  source.definitions.set('CodeSystem', [codeSystem('text', 'x'), codeSystem('good', [{ code: 'a' }])])
  const server = await serverWith({ plugins, settings: { terminology: { urls: [source.url] } } })
  try {
    await until(async () => (await used(server, codeSystem('good', []))) === 200, WAIT_MS, 'the pull')
    const warnings = server.lines.flatMap(({ level, err, msg }) =>
      level === 'warn' && /^terminology was not pulled/.test(String(msg)) ? [String((err as Json).message)] : [],
    ) as [string]
    assert.is(warnings.length, 1, warnings.join('\n'))
    assert.ok(warnings[0].includes('http://systems.example/text|1') && warnings[0].includes(source.url), warnings[0])
  } finally {
    await server.stop()
    await source.close()
  }
})

withSource('what an earlier version pulled and is malformed is never 500, and not empty', async (_source, server) => {
  const insert = sql(
    'test.pulled',
    "INSERT INTO tx_pulled (source, type, name, staged, url, version, status, large, body) VALUES ('http://old.example', ?, ?, 0, ?, NULL, 'active', 0, ?)",
  )
  for (const [type, definition] of FAULTS)
    await server
      .get(Database)
      .transact((transaction) =>
        transaction.run(insert, [type, definition.id, definition.url, JSON.stringify(definition)]),
      )
  for (const [, definition] of FAULTS) assert.is(await used(server, definition), 404, JSON.stringify(definition))
  assert.is((await server.inject('/ValueSet/$expand?url=http://systems.example/text/vs')).statusCode, 404)
})

withSource('concepts may be nested 150 deep; what is nested 20,000 deep is left out', async (source, server) => {
  source.definitions.set('CodeSystem', [
    codeSystem('deep', [{ code: 'a', concept: deep(150) }]),
    codeSystem('good', [{ code: 'a' }]),
  ])
  source.intercept = (path, response) => {
    if (!path.startsWith('CodeSystem') || path.includes('from=')) return false
    const concept = `${'[{"code":"a","concept":'.repeat(20_000)}[]${'}]'.repeat(20_000)}`
    const header = JSON.stringify(codeSystem('abyss', 0)).replace(/0}$/, '')
    response.writeHead(200)
    response.end(
      `{"resourceType":"Bundle","link":[{"relation":"next","url":"${source.url}/CodeSystem?from=0"}],"entry":[{"resource":${header}${concept}}}]}`,
    )
    return true
  }
  const { resources, failed, messages } = await pull(server)
  assert.equal([resources, failed], [2, 1])
  assert.match(messages[0] as string, /http:\/\/systems\.example\/abyss\|1.* nested more than \d+ levels/)
  assert.is(await used(server, codeSystem('deep', [])), 200)
  assert.is(await used(server, codeSystem('abyss', [])), 404)
})

for (const [what, entry] of [
  ['empty pages', []],
  ['pages with the same definition', [{ resource: codeSystem('good', [{ code: 'a' }]) }]],
] as const)
  withSource(
    `a source that gives ${what} without end is left, and asked from the beginning next`,
    async (source, server) => {
      source.definitions.set('CodeSystem', [codeSystem('good', [{ code: 'a' }])])
      await pull(server)
      let pages = 0
      source.intercept = (path, response) => {
        if (!path.startsWith('CodeSystem')) return false
        pages += 1
        // A source of which nothing bounds the pull ends it here, so that the test ends.
        const link = pages < 500 ? [{ relation: 'next', url: `${source.url}/CodeSystem?after=${pages}` }] : []
        response.writeHead(200).end(JSON.stringify({ resourceType: 'Bundle', link, entry }))
        return true
      }
      const { failed, messages } = await pull(server)
      assert.is(failed, 1)
      assert.match(messages[0] as string, /its last \d+ pages have no other definitions than those before/)
      assert.ok(pages < 200, String(pages))
      assert.is(await used(server, codeSystem('good', [])), 200, 'the last pull')
      source.intercept = undefined
      source.requests.length = 0
      assert.is((await pull(server)).failed, 0)
      assert.is(source.requests[0], 'CodeSystem?_count=10')
    },
  )

withSource('only definitions that are in use are counted', async (source, server) => {
  const good = codeSystem('good', [{ code: 'a' }])
  source.definitions.set('CodeSystem', [{ resourceType: 'Patient', id: 'p' }, { ...good, id: 'x', url: 5 }, good])
  source.definitions.set('ValueSet', [valueSet('all', of('good')), good])
  assert.is((await pull(server)).resources, 2)
})

test.run()

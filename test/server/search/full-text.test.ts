/** `_text` and `_content`. https://hl7.org/fhir/R4/search.html#content */
// npm test: sqlite and postgres, whose statements differ
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import database from '../../../plugins/database/index.ts'
import { Database, sql } from '../../../plugins/database/service.ts'
import { createFullTextIndex } from '../../../plugins/search/index/full-text/text-index.ts'
import { clearText } from '../../../plugins/search/index/full-text/text-tables.ts'
import { chosenKind } from '../../support/database-kinds.ts'
import { fhirPlugins } from '../../support/fhir-plugins.ts'
import { careDefinitions } from '../../support/search-definitions.ts'
import { serverWith, type TestServer } from '../../support/server-with.ts'

const headers = { 'content-type': 'application/fhir+json' }
const putTo = async (server: TestServer, resource: Record<string, any>): Promise<void> => {
  const url = `/${resource.resourceType}/${resource.id}`
  const answer = await server.inject({ method: 'PUT', url, headers, payload: JSON.stringify(resource) })
  assert.ok(answer.statusCode < 300, answer.body)
}
const narrative = (words: string) => ({
  text: { status: 'generated', div: `<div xmlns="http://www.w3.org/1999/xhtml">${words}</div>` },
})
const condition = (id: string, text: string, more: object = {}) => ({
  resourceType: 'Condition',
  id,
  subject: { reference: 'Patient/p1' },
  code: { text },
  ...more,
})
const plugins = [database, careDefinitions(), ...fhirPlugins]
const start = (settings: Record<string, unknown> = {}) =>
  serverWith({ plugins, settings: { conformance: { update_as_create: true }, ...settings } })

let server: TestServer
const RESOURCES = [
  { resourceType: 'Patient', id: 'p1', name: [{ family: 'Élan' }], ...narrative('<p>A <b>heart</b> &amp; soul</p>') },
  condition('c1', 'Acute heart failure', narrative('<table><tr><td>Failure of the</td><td>heart</td></tr></table>')),
  condition('c2', 'Heart attack, acute', { note: [{ text: 'Seen 2024: 3 stents, Müller-Straße' }] }),
  condition('c3', 'Fracture of the hip', narrative('Broken')),
  condition(
    'c5',
    'Markup',
    narrative(
      'HbA<sub>1c</sub> <b>h</b><i class="x">igh</i> 10<sup>9</sup><br/>upper<br />lower<p>first</p><p>second</p>' +
        '<ul><li>ab</li><li>cd</li></ul><table><tr><td>ef</td><td>gh</td></tr></table>before<img src="#a" alt="x"/>after' +
        ' <STRONG>lo</STRONG>ud &valueOf; &amp;<bdo>i</bdo>d ro<!-- <p> -->bin',
    ),
  ),
  condition('c4', 'Cardiomyopathy', {
    code: { text: 'Cardiomyopathy', coding: [{ system: 'http://zzsystem', code: 'I42.0' }] },
  }),
]
test.before(async () => {
  server = await start()
  for (const one of RESOURCES) await putTo(server, one)
})
test.after(() => server.stop())

const findIn = async (where: TestServer, url: string): Promise<string> => {
  const answer = await where.inject(url)
  assert.is(answer.statusCode, 200, `${url} ${answer.body.slice(0, 300)}`)
  return (answer.json().entry ?? [])
    .map((entry: any) => entry.resource.id)
    .sort()
    .join(' ')
}
const CASES: readonly (readonly [string, string])[] = [
  ['_content=heart', 'c1 c2'],
  ['_content=HEART', 'c1 c2'],
  ['_content=hear', ''],
  ['_content=hear*', 'c1 c2'],
  ['_content=heart acute', 'c1 c2'],
  ['_content=heart AND failure', 'c1'],
  ['_content="heart failure"', 'c1'],
  ['_content="failure heart"', ''],
  ['_content="acute heart fail"*', 'c1'],
  ['_content=heart -failure', 'c2'],
  ['_content=heart NOT failure', 'c2'],
  ['_content=NOT heart', 'c3 c4 c5'],
  ['_content=failure OR hip', 'c1 c3'],
  ['_content=failure,hip', 'c1 c3'],
  ['_content=acute (failure OR attack)', 'c1 c2'],
  ['_content=acute (failure OR stents) NOT soul', 'c1 c2'],
  ['_content=muller', 'c2'],
  ['_content=Müller', 'c2'],
  ['_content=muller-strasse', 'c2'],
  ['_content=3', 'c2'],
  ['_content=i42.0', 'c4'],
  ['_content=42', ''],
  // The narrative is content too; systems, references and markup are not.
  ['_content=broken', 'c3'],
  ['_content=zzsystem', ''],
  ['_content=p1', ''],
  ['_content=table', ''],
  ['_content=xhtml', ''],
  ['_text=heart', 'c1'],
  ['_text="of the heart"', 'c1'],
  ['_text=broken', 'c3'],
  ['_text=hip', ''],
  ['_text=brok*', 'c3'],
  ['_text=NOT heart', 'c2 c3 c4 c5'],
  // Markup inside of a line does not end a word; blocks, breaks, cells and pictures do.
  ['_text=HbA1c', 'c5'],
  ['_text=high', 'c5'],
  ['_text=109', 'c5'],
  ['_content=HbA1c', 'c5'],
  ['_text=igh', ''],
  ['_text=loud', 'c5'],
  ['_text="upper lower first second ab cd ef gh before after"', 'c5'],
  ['_text=upperlower', ''],
  ['_text=robin', 'c5'],
  ['_text="id robin"', 'c5'],
  ['_text=native', ''],
  ['_text=heart&_content=acute', 'c1'],
  ['_content=heart&subject=Patient/p1&_id=c2', 'c2'],
]
for (const [query, expected] of CASES)
  test(`Condition?${query}`, async () => {
    const url = `/Condition?${new URLSearchParams(query.replaceAll('+', '%2B'))}`
    assert.is(await findIn(server, url), expected)
  })

test('words are found in chains, in filters of other types, and of other types not at all', async () => {
  assert.is(await findIn(server, '/Patient?_text=soul'), 'p1')
  assert.is(await findIn(server, '/Patient?_text=amp'), '')
  assert.is(await findIn(server, '/Patient?_content=elan heart'), 'p1')
  assert.is(await findIn(server, '/Condition?subject:Patient._text=soul&_id=c1'), 'c1')
  assert.is(await findIn(server, '/Patient?_has:Condition:subject:_content=stents'), 'p1')
  assert.is(await findIn(server, '/?_type=Patient,Condition&_content=heart'), 'c1 c2 p1')
  assert.is(await findIn(server, '/Condition?_content=heart&_sort=-_id&_count=1'), 'c2')
  assert.is((await server.inject('/Condition?_content=heart&_summary=count')).json().total, 2)
})

test('an update and a deletion change what is found', async () => {
  await putTo(server, condition('moving', 'Quokka'))
  assert.is(await findIn(server, '/Condition?_content=quokka'), 'moving')
  await putTo(server, condition('moving', 'Wombat', narrative('Quokka')))
  assert.is(await findIn(server, '/Condition?_text=quokka'), 'moving')
  await putTo(server, condition('moving', 'Wombat'))
  assert.is(await findIn(server, '/Condition?_content=quokka'), '')
  assert.is(await findIn(server, '/Condition?_content=wombat'), 'moving')
  await server.inject({ method: 'DELETE', url: '/Condition/moving' })
  assert.is(await findIn(server, '/Condition?_content=wombat'), '')
  await putTo(server, condition('moving', 'Wombat'))
  assert.is(await findIn(server, '/Condition?_content=wombat'), 'moving')
  await server.inject({ method: 'DELETE', url: '/Condition/moving' })
})

test('a value that holds no word, or cannot be read, is 400', async () => {
  for (const [value, said] of [
    ['!!!', /no value/],
    ['heart,...', /no value/],
    ['"heart', /quote/],
    ['(heart', /parenthesis is not closed/],
    ['heart)', /not opened/],
    ['heart OR', /one is missing/],
    ['AND heart', /one is missing/],
    ['NOT', /one is missing/],
  ] as const) {
    const answer = await server.inject(`/Condition?_content=${encodeURIComponent(value)}`)
    assert.is(answer.statusCode, 400, value)
    assert.match(answer.json().issue[0].diagnostics, said, value)
  }
  for (const value of [Array(60).fill('x').join(' '), `${'('.repeat(30)}x${')'.repeat(30)}`]) {
    const answer = await server.inject(`/Condition?_content=${encodeURIComponent(value)}`)
    assert.is(answer.json().issue[0].code, 'too-costly')
  }
  assert.is((await server.inject('/Condition?_text:exact=x')).statusCode, 400)
})

test('words that look like a query of the database are words', async () => {
  for (const value of [
    "'",
    'a" OR "b',
    'narrative : x',
    'x NEAR y',
    'content:x*',
    "x' | 'y",
    'a:*b & c',
    '{narrative}',
    '^x',
    '\\',
  ])
    assert.ok(
      [200, 400].includes((await server.inject(`/Condition?_content=${encodeURIComponent(value)}`)).statusCode),
      value,
    )
})

test('a huge text is stored, and the words at its beginning are found', async () => {
  const words = Array.from({ length: 60_000 }, (_, at) => `w${at.toString(36)}`).join(' ')
  await putTo(server, condition('huge', `firstword ${words}`))
  assert.is(await findIn(server, '/Condition?_content=firstword w1'), 'huge')
  await server.inject({ method: 'DELETE', url: '/Condition/huge' })
})

test('words that an earlier build has indexed are indexed anew by the start', async () => {
  if (chosenKind.name === 'memory') return
  const own = await chosenKind.fresh(plugins)
  try {
    const before = await start(own.settings)
    for (const one of RESOURCES) await putTo(before, one)
    assert.is(await findIn(before, '/Condition?_text=high'), 'c5')
    await before.get(Database).transact(async (transaction) => {
      await transaction.run(
        sql('test.words-earlier', "UPDATE search_setting SET value = 'all' WHERE name = 'words'"),
        [],
      )
      await transaction.run(clearText, [])
    })
    assert.is(await findIn(before, '/Condition?_text=high'), '')
    await before.stop()
    const after = await start(own.settings)
    assert.is(await findIn(after, '/Condition?_text=high'), 'c5')
    assert.is(await findIn(after, '/Condition?_content=heart'), 'c1 c2')
    await after.stop()
  } finally {
    await own.remove()
  }
})

test('full_text chooses what is indexed; after a change all is indexed anew', async () => {
  if (chosenKind.name === 'memory') return
  const own = await chosenKind.fresh(plugins)
  const open = (full_text: string) => start({ ...own.settings, fhir: { full_text } })
  try {
    const none = await open('none')
    for (const one of RESOURCES) await putTo(none, one)
    const named = async (server: TestServer) => {
      const [{ resource }] = (await server.inject('/metadata')).json().rest
      const { searchParam } = resource.find(({ type }: any) => type === 'Condition')
      return searchParam
        .map(({ name }: any) => name)
        .filter((name: string) => ['_text', '_content'].includes(name))
        .join(' ')
    }
    assert.is(await named(none), '')
    for (const name of ['_text', '_content']) {
      const answer = await none.inject(`/Condition?${name}=heart`)
      assert.is(answer.statusCode, 400)
      assert.match(answer.json().issue[0].diagnostics, /full_text is "none"/)
    }
    await none.stop()
    const narratives = await open('narrative')
    assert.is(await findIn(narratives, '/Condition?_text=heart'), 'c1')
    assert.is(await named(narratives), '_text')
    assert.is((await narratives.inject('/Condition?_content=heart')).statusCode, 400)
    await narratives.stop()
    const all = await open('all')
    assert.is(await findIn(all, '/Condition?_text=heart'), 'c1')
    assert.is(await findIn(all, '/Condition?_content=heart'), 'c1 c2')
    assert.is(await named(all), '_text _content')
    await all.stop()
  } finally {
    await own.remove()
  }
})

test('an index that was half filled for another setting is not taken for a complete one', async () => {
  if (chosenKind.name === 'memory') return
  const own = await chosenKind.fresh(plugins)
  try {
    const before = await start(own.settings)
    for (const one of RESOURCES) await putTo(before, one)
    assert.is(await findIn(before, '/Condition?_content=heart'), 'c1 c2')
    // A server with the setting "narrative" takes over, and is killed after its first batch.
    const database = before.get(Database)
    const killed = new AbortController()
    let transactions = 0
    const interrupted = createFullTextIndex(
      {
        ...database,
        transact: async (work, options) => {
          const done = await database.transact(work, options)
          transactions += 1
          if (transactions === 2) killed.abort()
          return done
        },
      },
      'narrative',
    )
    await interrupted.complete(killed.signal)
    await before.stop()
    const after = await start(own.settings)
    assert.is(await findIn(after, '/Condition?_content=heart'), 'c1 c2')
    assert.is(await findIn(after, '/Condition?_text=heart'), 'c1')
    await after.stop()
  } finally {
    await own.remove()
  }
})

test.run()

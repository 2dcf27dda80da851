/** Texts are compared and sorted by all their characters, however long they are. https://hl7.org/fhir/R4/search.html#string */
// npm test: sqlite and postgres, whose statements differ
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import database from '../../../plugins/database/index.ts'
import { fhirPlugins } from '../../support/fhir-plugins.ts'
import { careDefinitions } from '../../support/search-definitions.ts'
import { serverWith, type TestServer } from '../../support/server-with.ts'

let server: TestServer
const headers = { 'content-type': 'application/fhir+json' }
const put = async (resource: { resourceType: string; id: string } & object): Promise<void> => {
  const url = `/${resource.resourceType}/${resource.id}`
  const answer = await server.inject({ method: 'PUT', url, headers, payload: JSON.stringify(resource) })
  assert.ok(answer.statusCode < 300, answer.body)
}
/** Ids on all pages, in order. By POST: a text may be longer than an address. */
const found = async (type: string, query: Record<string, string>): Promise<readonly string[]> => {
  const ids: string[] = []
  const form = { 'content-type': 'application/x-www-form-urlencoded' }
  const payload = new URLSearchParams({ _count: '1000', ...query }).toString()
  let answer = await server.inject({ method: 'POST', url: `/${type}/_search`, headers: form, payload })
  for (;;) {
    assert.is(answer.statusCode, 200, answer.body.slice(0, 1_000))
    const bundle = answer.json() as {
      entry?: { resource: { id: string } }[]
      link: { relation: string; url: string }[]
    }
    ids.push(...(bundle.entry ?? []).map(({ resource }) => resource.id))
    const next = bundle.link.find(({ relation }) => relation === 'next')?.url
    if (next === undefined) return ids
    assert.ok(next.length < 4_000, `the next link has ${next.length} characters`)
    answer = await server.inject(next.slice(next.indexOf(`/${type}`)))
  }
}

/** Two texts of a length that differ in their last character only. Folded, `é` is `e` and a mathematical A is `a`. */
const LENGTHS = [99, 100, 101, 10_000]
const ALPHABETS = { plain: 'x', accent: 'e\u0301', pair: '\u{1f600}', composed: 'é' } as const
const textsOf = (unit: string, length: number): readonly [string, string] => {
  const begin = unit
    .repeat(Math.ceil(length / unit.length))
    .slice(0, unit.length * Math.floor((length - 1) / unit.length))
  return [`${begin}a`, `${begin}b`]
}
const CASES = Object.entries(ALPHABETS).flatMap(([name, unit]) =>
  LENGTHS.map((length) => ({ id: `${name}${length}`, texts: textsOf(unit, length) })),
)
const concept = (system: string, text: string) => ({ coding: [{ system, code: 'c', display: text }] })

test.before(async () => {
  server = await serverWith({
    plugins: [database, careDefinitions(), ...fhirPlugins],
    settings: { conformance: { update_as_create: true } },
  })
  for (const { id, texts } of CASES)
    for (const [at, text] of texts.entries())
      await put({
        resourceType: 'Observation',
        id: `${id}-${at}`,
        status: 'final',
        code: concept(`http://${id}`, text),
        valueString: text,
      } as never)
})
test.after(() => server.stop())

for (const { id, texts } of CASES) {
  const ids = texts.map((_text, at) => `${id}-${at}`)
  test(`${id}: :text and :code-text tell displays apart by their last character`, async () => {
    for (const modifier of ['text', 'code-text'])
      for (const [at, text] of texts.entries()) {
        assert.equal(await found('Observation', { [`code:${modifier}`]: text, code: `http://${id}|c` }), [ids[at]])
        assert.equal(
          [...(await found('Observation', { [`code:${modifier}`]: text.slice(0, -1), code: `http://${id}|c` }))].sort(),
          ids,
        )
      }
  })
  test(`${id}: a text in a composite is compared as a whole`, async () => {
    for (const [at, text] of texts.entries())
      assert.equal(await found('Observation', { 'code-value-string': `http://${id}|c$${text}` }), [ids[at]])
    const both = await found('Observation', { 'code-value-string': `http://${id}|c$${texts[0].slice(0, -1)}` })
    assert.equal([...both].sort(), ids)
  })
  test(`${id}: texts are sorted by their last character, page by page`, async () => {
    for (const key of ['value-string', 'code']) {
      assert.equal(await found('Observation', { code: `http://${id}|c`, _sort: key, _count: '1' }), ids)
      assert.equal(
        await found('Observation', { code: `http://${id}|c`, _sort: `-${key}`, _count: '1' }),
        ids.toReversed(),
      )
    }
  })
}

test('one resource may have two long texts that begin alike', async () => {
  const [one, other] = textsOf('x', 300)
  await put({
    resourceType: 'Observation',
    id: 'two',
    status: 'final',
    code: { coding: [{ system: 'http://two', code: 'c', display: one }], text: other },
  } as never)
  for (const text of [one, other])
    assert.equal(await found('Observation', { 'code:text': text, code: 'http://two|c' }), ['two'])
})

test('pages of texts that begin alike go on where they ended, also when the last one shown was changed meanwhile', async () => {
  const begin = 'y'.repeat(500)
  const texts = ['a', 'b', 'c', 'd', 'e'].map((end) => `${begin}${end}`)
  const observation = (at: number, text: string) =>
    put({
      resourceType: 'Observation',
      id: `same${at}`,
      status: 'final',
      code: concept('http://same', 'c'),
      valueString: text,
    } as never)
  for (const [at, text] of texts.entries()) await observation(at, text)
  const query = '/Observation?code=http://same|c&_sort=value-string&_count=2'
  const first = (await server.inject(query)).json()
  const next = first.link.find(({ relation }: { relation: string }) => relation === 'next').url
  await observation(1, 'z')
  const second = await server.inject(next.slice(next.indexOf('/Observation')))
  assert.is(second.statusCode, 200, second.body)
  const ids = second.json().entry.map(({ resource }: { resource: { id: string } }) => resource.id)
  // Where the place of the last one is not known any more, what begins alike is shown again rather than left out.
  assert.equal(ids, ['same0', 'same2'])
})

test.run()

/** What pages promise while others write: nothing new, and what is not changed once, in any order. */
// npm test: sqlite and postgres, whose statements differ
// memory: reads wait there while a transaction is open
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { fhirPlugins } from '../../support/fhir-plugins.ts'
import { postTransaction } from '../../support/post-bundle.ts'
import { searchDefinitions } from '../../support/search-definitions.ts'
import { serverWith, type TestServer } from '../../support/server-with.ts'
import { watchedDatabase } from '../../support/watched-database.ts'

let server: TestServer
const { plugin, watch } = watchedDatabase()
const headers = { 'content-type': 'application/fhir+json' }
const PATIENTS = 9
let made = 0
/** Two of three have a date, two each the same. */
const dateOf = (at: number): string | undefined => (at % 3 === 2 ? undefined : `19${50 + (at % 4)}-01-01`)
const patient = (id: string, birthDate: string | undefined): object => ({
  resourceType: 'Patient',
  id,
  birthDate,
  name: [{ family: `F${id}` }],
})
const put = async (id: string, birthDate: string | undefined): Promise<void> => {
  const payload = JSON.stringify(patient(id, birthDate))
  const answer = await server.inject({ method: 'PUT', url: `/Patient/${id}`, headers, payload })
  assert.ok(answer.statusCode < 300, answer.body)
}
const transact = async (entry: readonly object[]): Promise<void> => void (await postTransaction(server, entry))
const fill = (): Promise<void> =>
  transact(
    Array.from({ length: PATIENTS }, (_, at) => ({
      resource: patient(`p${at}`, dateOf(at)),
      request: { method: 'PUT', url: `Patient/p${at}` },
    })),
  )
/** Ids of the pages, with something done between each two. */
const walk = async (query: string, between: (page: number) => Promise<void>): Promise<readonly string[]> => {
  const found: string[] = []
  let page = 0
  for (let next: string | undefined = `/Patient?${query}`; next !== undefined; page += 1) {
    const answer = await server.inject(next)
    assert.is(answer.statusCode, 200, answer.body)
    const bundle = answer.json() as {
      entry?: { resource: { id: string } }[]
      link: { relation: string; url: string }[]
    }
    found.push(...(bundle.entry ?? []).map(({ resource }) => resource.id))
    const url: string | undefined = bundle.link.find(({ relation }) => relation === 'next')?.url
    next = url?.slice(url.indexOf('/Patient'))
    await between(page)
  }
  return found
}

test.before(async () => {
  server = await serverWith({
    plugins: [plugin, searchDefinitions(), ...fhirPlugins],
    settings: { conformance: { update_as_create: true } },
  })
})
test.after(() => server.stop())

for (const sort of ['', 'birthdate', '-birthdate', 'name', '-_id', 'birthdate,-name', '-_lastUpdated'])
  for (let count = 1; count <= PATIENTS; count += 1)
    test(`${sort === '' ? 'newest first' : sort}, ${count} a page: no new one, and what is not changed once`, async () => {
      await fill()
      const query = `${sort === '' ? '' : `_sort=${sort}&`}_count=${count}&gender:missing=true`
      const before = await walk(query, async () => undefined)
      assert.is(before.length, PATIENTS)
      const first = made
      const found = await walk(query, async (page) => {
        // A deleted resource that is brought back keeps its place: each is another one.
        made += 1
        const id = `new${made}`
        await put(id, `19${50 + (page % 5)}-01-01`)
        await put('p4', `19${40 + 2 * page}-06-01`)
        if (page === 0) await server.inject({ method: 'DELETE', url: '/Patient/p7' })
      })
      const isLeft = (id: string): boolean => id !== 'p4' && id !== 'p7'
      assert.equal(found.filter(isLeft), before.filter(isLeft))
      if (sort === '') assert.is(found.filter((id) => id === 'p4').length, 1)
      const news = Array.from({ length: made - first }, (_, at) => `Patient/new${first + 1 + at}`)
      await transact(news.map((url) => ({ request: { method: 'DELETE', url } })))
    })

for (const sort of ['birthdate', '-_id', 'organization'])
  test(`${sort}: a match that is deleted before it is read ends no page and no search`, async () => {
    await fill()
    const query = `_sort=${sort}&_count=3&gender:missing=true`
    const before = await walk(query, async () => undefined)
    const gone = new Set([before[0], before[3], before[7]])
    watch.behind = async () => {
      watch.behind = undefined
      for (const id of gone) await server.inject({ method: 'DELETE', url: `/Patient/${id}` })
    }
    const found = await walk(query, async () => undefined)
    assert.is(watch.behind, undefined)
    assert.equal(
      found,
      before.filter((id) => !gone.has(id)),
    )
  })

test.run()

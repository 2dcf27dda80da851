/**
 * Searches all of whose clauses have many matches: what they find does not depend on where the search starts, and where
 * the newest resources do not hold it, it starts from the clause with the fewest.
 */
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import database from '../../../plugins/database/index.ts'
import { chosenKind } from '../../support/database-kinds.ts'
import { fhirPlugins } from '../../support/fhir-plugins.ts'
import { postTransaction } from '../../support/post-bundle.ts'
import { careDefinitions } from '../../support/search-definitions.ts'
import { serverWith, type TestServer } from '../../support/server-with.ts'

const OLD = 2_020 // more than are counted, and behind more new ones than are gone through
const NEW = 5_020
const BATCH = 700
const UNIT = { unit: 'kg', system: 'http://unitsofmeasure.org', code: 'kg' }

let server: TestServer
const olds: string[] = [] // the newest first
const made: string[] = []

const observation = (at: number): object => {
  const isOld = at < OLD
  return {
    resourceType: 'Observation',
    status: at % 2 === 0 ? 'final' : 'amended',
    code: { coding: [{ system: 'http://loinc.org', code: '29463-7' }] },
    effectiveDateTime: isOld ? `2010-01-01T00:${String(at % 60).padStart(2, '0')}:00Z` : '2024-05-05',
    valueQuantity: { value: isOld ? 300 + (at % 7) : 10, ...UNIT },
  }
}
const post = async (from: number, to: number): Promise<readonly string[]> => {
  const entry = Array.from({ length: to - from }, (_, at) => ({
    resource: observation(from + at),
    request: { method: 'POST', url: 'Observation' },
  }))
  const answer = await postTransaction(server, entry)
  const { entry: answered } = answer.json() as { entry: { response: { location: string } }[] }
  const ids = answered.map(({ response }) => /Observation\/([^/]+)/.exec(response.location)?.[1] as string)
  made.push(...ids)
  return ids
}

test.before(async () => {
  server = await serverWith({
    plugins: [database, careDefinitions(), ...fhirPlugins],
    settings: { fhir: { full_text: 'none' } },
  })
  for (let at = 0; at < OLD; at += BATCH) olds.unshift(...[...(await post(at, Math.min(at + BATCH, OLD)))].reverse())
  for (let at = OLD; at < OLD + NEW; at += BATCH) await post(at, Math.min(at + BATCH, OLD + NEW))
})
test.after(() => server.stop())

interface Found {
  readonly total?: number
  readonly entry?: readonly {
    readonly resource: { readonly id: string; readonly issue?: readonly { readonly diagnostics: string }[] }
    readonly search: { readonly mode: string }
  }[]
  readonly link: readonly { readonly relation: string; readonly url: string }[]
}
const find = async (url: string): Promise<Found> => {
  const answer = await server.inject(url)
  assert.is(answer.statusCode, 200, answer.body)
  return answer.json() as Found
}
const idsOf = ({ entry = [] }: Found): readonly string[] =>
  entry.filter(({ search }) => search.mode === 'match').map(({ resource }) => resource.id)
const pagesOf = async (start: string): Promise<readonly string[]> => {
  const ids: string[] = []
  let url: string | undefined = start
  while (url !== undefined) {
    const page: Found = await find(url)
    ids.push(...idsOf(page))
    const next = page.link.find(({ relation }) => relation === 'next')?.url
    url = next?.slice(next.indexOf('/Observation'))
  }
  return ids
}
const isEven = (_id: string, at: number): boolean => (OLD - 1 - at) % 2 === 0

for (const [query, expected] of [
  ['date=lt2011', () => olds],
  ['value-quantity=gt299', () => olds],
  ['date=lt2011&value-quantity=gt299', () => olds],
  ['status=final&date=lt2011', () => olds.filter(isEven)],
  ['status=final,amended&date=lt2011', () => olds],
  ['date=lt2011&value-quantity=lt20', () => []],
] as const) {
  test(`${query}: pages hold all of it, the newest first`, async () => {
    assert.equal(await pagesOf(`/Observation?${query}&_count=1000`), expected())
  })
  test(`${query}: the newest of them`, async () => {
    assert.equal(idsOf(await find(`/Observation?${query}&_count=5`)), expected().slice(0, 5))
  })
  test(`${query}: counted and sorted it is the same`, async () => {
    const number = expected().length
    assert.is((await find(`/Observation?${query}&_summary=count`)).total, number)
    assert.is((await find(`/Observation?${query}&_count=1&_total=accurate`)).total, number)
    const sorted = await pagesOf(`/Observation?${query}&_sort=value-quantity,date&_count=1000`)
    assert.equal([...sorted].sort(), [...expected()].sort())
  })
}

test('the new ones are found among the newest', async () => {
  const ids = await pagesOf('/Observation?date=gt2020&value-quantity=lt20&_count=1000')
  assert.is(ids.length, NEW)
  assert.is(new Set([...ids, ...olds]).size, NEW + OLD)
})

const plansOf = async (query: string, type = 'Observation'): Promise<string> => {
  const { entry = [] } = await find(`/${type}?${query}&_explain=true`)
  const outcome = entry.find(({ search }) => search.mode === 'outcome')
  return (outcome?.resource.issue ?? []).map(({ diagnostics }) => diagnostics).join('\n')
}

test('what is counted starts from the clause with the fewest rows', async () => {
  if (chosenKind.name === 'postgres') return // its planner may go through a table that fits into a few pages
  const told = (await plansOf('value-quantity=gt299&_summary=count')).split('the database took').at(-1) ?? ''
  assert.match(told, /SEARCH x USING PRIMARY KEY \(param=\? AND lo>\?\)/)
  assert.not.match(told, /SEARCH d USING PRIMARY KEY \(type=\?/)
})

for (const query of ['name:contains=a', '_filter=name co "a"'])
  test(`${query} is checked by the rows of each resource, not by all rows of the parameter`, async () => {
    if (chosenKind.name === 'postgres') return // as above
    for (const family of ['Adams', 'Banks'])
      await postTransaction(server, [
        {
          resource: { resourceType: 'Patient', gender: 'male', name: [{ family }] },
          request: { method: 'POST', url: 'Patient' },
        },
      ])
    const plans = await plansOf(`gender=male&${query}&_summary=count`, 'Patient')
    assert.match(plans, /SEARCH x USING INDEX ix_str_rid \(rid=\?\)/)
  })

/** Of each Observation, by id: what it is sorted by. */
const isOlder = (at: number): boolean => at < OLD
const SORTS: Readonly<Record<string, (at: number) => number>> = {
  date: (at) => (isOlder(at) ? at % 60 : 100),
  'value-quantity': (at) => (isOlder(at) ? 300 + (at % 7) : 10),
}
for (const sort of [
  'date',
  '-date',
  'value-quantity',
  '-value-quantity',
  'date,-value-quantity',
  '-value-quantity,date',
])
  for (const clause of ['', 'date=lt2011&', 'status=final&', 'value-quantity=gt299&date=lt2011&'])
    test(`${clause}_sort=${sort}: pages are in order, forwards and back`, async () => {
      const expected = Array.from({ length: OLD + NEW }, (_, at) => at)
        .filter((at) => isOlder(at) || !clause.includes('date'))
        .filter((at) => at % 2 === 0 || !clause.includes('status'))
        .sort((one, other) => {
          for (const key of sort.split(',')) {
            const by = SORTS[key.replace(/^-/, '')] as (at: number) => number
            if (by(one) !== by(other)) return (by(one) - by(other)) * (key.startsWith('-') ? -1 : 1)
          }
          return other - one
        })
        .map((at) => made[at])
      const first = await find(`/Observation?${clause}_sort=${sort}&_count=200`)
      assert.equal(idsOf(first), expected.slice(0, 200))
      const follow = async ({ link }: Found, relation: string): Promise<Found> => {
        const url = link.find((one) => one.relation === relation)?.url as string
        return find(url.slice(url.indexOf('/Observation')))
      }
      const second = await follow(first, 'next')
      assert.equal(idsOf(second), expected.slice(200, 400))
      assert.equal(idsOf(await follow(second, 'previous')), idsOf(first))
    })

for (const [sort, index] of [
  ['_id', /SEARCH w USING INDEX resource_id \(type=\?/],
  ['-value-quantity', /SEARCH w USING PRIMARY KEY \(param=\?/],
  ['date,-value-quantity', /SEARCH w USING PRIMARY KEY \(param=\?/],
] as const)
  test(`_sort=${sort} goes along an index`, async () => {
    const told = await plansOf(`_sort=${sort}&_count=5`)
    assert.match(told, `along the index of ${sort.split(',')[0]?.replace(/^-/, '')}`)
    if (chosenKind.name !== 'postgres') assert.match(told, index) // the others: test/plugins/search/plan/postgres-plans.test.ts
    assert.not.match(told, /SEARCH d USING PRIMARY KEY \(type=/)
  })

test('where nothing can match nobody goes through the resources', async () => {
  for (const query of ['_list=nothing', 'patient.identifier=nothing', '_has:Provenance:target:agent=Patient/nobody'])
    assert.match(await plansOf(query), /Observation: starts from .* \(0 rows\)/, query)
})

test('what many refer to is found from those that meet the condition, where these are fewer', async () => {
  const told = await plansOf('_has:Observation:derived-from:value-quantity=gt299')
  assert.match(told, /starts from "_has:Observation:derived-from:value-quantity=gt299" \(2020 rows\)/)
})

test('a page that the newest hold takes no count', async () => {
  const told = await plansOf('date=gt2020&value-quantity=lt20&_count=5')
  assert.is(told.match(/the database took/g)?.length, 1, told)
  assert.match(told, 'all are long')
})

test.run()

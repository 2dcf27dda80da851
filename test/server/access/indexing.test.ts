/** A search parameter that is being indexed: how far the index is tells how many resources there are. */
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { definePlugin, type Restriction } from '../../../kernel/index.ts'
import database from '../../../plugins/database/index.ts'
import { fhirPlugins } from '../../support/fhir-plugins.ts'
import { searchDefinitions } from '../../support/search-definitions.ts'
import { serverWith } from '../../support/server-with.ts'

const PATIENTS = 400 // enough for the index to be under way while it is asked
const headers = { 'content-type': 'application/fhir+json' }
const GRANTS: Readonly<Record<string, Restriction>> = {
  part: { types: { Patient: [{ rights: 'rs', query: 'gender=male' }] }, others: [] },
  all: { types: { Patient: [{ rights: 'rs' }] }, others: [] },
}

const gate = definePlugin({
  name: 'gate',
  setup({ hooks }) {
    hooks.authorize.tap('restrict by header', ({ headers: given }, _interaction, ruling) => {
      const restriction = GRANTS[String(given['x-sees'])]
      if (restriction !== undefined) ruling.restrict(restriction)
    })
  },
})

const entryOf = (at: number): object => ({
  resource: { resourceType: 'Patient', gender: 'female', name: [{ family: `F${at}`, suffix: ['x'] }] },
  request: { method: 'POST', url: 'Patient' },
})

const ASKED = {
  search: { method: 'GET', url: '/Patient?suffix=x&_summary=count' },
  'search of all types': { method: 'GET', url: '/?_type=Patient&suffix=x' },
  'conditional create': { method: 'POST', url: '/Patient', noneExist: 'suffix=x' },
} as const

test('who may not find all resources of a type is not told how many are in the index, and the log says nothing', async () => {
  const server = await serverWith({ plugins: [database, searchDefinitions(), gate, ...fhirPlugins] })
  const post = (url: string, payload: object) =>
    server.inject({ method: 'POST', url, headers, payload: JSON.stringify(payload) })
  const entry = Array.from({ length: PATIENTS }, (_, at) => entryOf(at))
  assert.is((await post('/', { resourceType: 'Bundle', type: 'transaction', entry })).statusCode, 200)
  const posted = await post('/SearchParameter', {
    resourceType: 'SearchParameter',
    url: 'http://example.org/suffix',
    name: 'suffix',
    status: 'active',
    description: 'Suffix of a name',
    code: 'suffix',
    base: ['Patient'],
    type: 'string',
    expression: 'Patient.name.suffix',
  })
  assert.is(posted.statusCode, 201, posted.body)
  const ask = async (what: keyof typeof ASKED, sees: string): Promise<string> => {
    const { method, url, ...more } = ASKED[what]
    const answer = await server.inject({
      method,
      url,
      headers: { ...headers, 'x-sees': sees, ...('noneExist' in more && { 'if-none-exist': more.noneExist }) },
      ...(method === 'POST' && { payload: '{"resourceType":"Patient"}' }),
    })
    assert.is(answer.statusCode, sees === 'part' && method === 'POST' ? 403 : 503, `${what} ${sees} ${answer.body}`)
    return answer.json().issue[0].diagnostics
  }
  const plain = 'The search parameter "suffix" is being indexed. Try again later.'
  const counted =
    /^The search parameter "suffix" is being indexed: \d+ of (all|400) resources are done\. Try again later\.$/
  const said = await Promise.all([
    ask('search', 'part'),
    ask('search', 'all'),
    ask('search', 'everything'),
    ask('search of all types', 'part'),
    ask('conditional create', 'everything'),
  ])
  assert.is(said[0], plain)
  for (const at of [1, 2, 4]) assert.match(said[at] as string, counted)
  assert.is(said[3], plain)
  assert.equal(
    server.lines.filter(({ level }) => level === 'error'),
    [],
  )
  await server.stop()
})

test.run()

/** A server to which SearchParameters are posted: fresh for every test of the file, but behind one that tidies up. */
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import type { AnyPlugin } from '../../../kernel/index.ts'
import database from '../../../plugins/database/index.ts'
import { chosenKind, type FreshDatabase } from '../../support/database-kinds.ts'
import { fhirPlugins } from '../../support/fhir-plugins.ts'
import { postTransaction } from '../../support/post-bundle.ts'
import { searchDefinitions } from '../../support/search-definitions.ts'
import { serverWith, type TestServer } from '../../support/server-with.ts'
import { until } from '../../support/until.ts'

const plugins = [database, searchDefinitions(), ...fhirPlugins]
export const headers = { 'content-type': 'application/fhir+json' }
export type Resource = Record<string, any>

let place: FreshDatabase
export let server: TestServer
const start = async (more: readonly AnyPlugin[] = [], conformance: object = {}): Promise<TestServer> =>
  serverWith({
    plugins: [...plugins, ...more],
    settings: { ...place.settings, conformance: { update_as_create: true, ...conformance } },
  })
/** The same data, and these plugins and settings beside the usual ones. */
export const restart = async (...more: Parameters<typeof start>): Promise<void> => {
  await server.stop()
  server = await start(...more)
}
/** Whether the next test takes the server of the last one. */
let isTidy = false
const end = async (): Promise<void> => {
  await server.stop()
  await place.remove()
}
test.before.each(async () => {
  if (isTidy) {
    isTidy = false
    return
  }
  place = await chosenKind.fresh(plugins)
  server = await start()
})
test.after.each(async () => {
  if (!isTidy) await end()
})
test.after(async () => {
  if (isTidy) await end()
})

export const send = (method: 'POST' | 'PUT', resource: Resource) =>
  server.inject({
    method,
    url: method === 'POST' ? `/${resource.resourceType}` : `/${resource.resourceType}/${resource.id}`,
    headers,
    payload: JSON.stringify(resource),
  })
export const put = async (resource: Resource): Promise<void> => {
  const answer = await send('PUT', resource)
  assert.ok(answer.statusCode < 300, answer.body)
}
/** In one transaction, which takes a fraction of the time of as many requests. */
export const putAll = async (resources: readonly Resource[]): Promise<void> => {
  const entry = resources.map((resource) => ({
    resource,
    request: { method: 'PUT', url: `${resource.resourceType}/${resource.id}` },
  }))
  await postTransaction(server, entry)
}
/** Deletes what a test has stored, so that the next one may take its server: starting another one takes longer. */
export const tidy = async (...paths: readonly string[]): Promise<void> => {
  if (paths.length > 0) {
    const entry = paths.map((url) => ({ request: { method: 'DELETE', url } }))
    await postTransaction(server, entry)
  }
  isTidy = true
}
export const parameter = (given: Resource = {}): Resource => ({
  resourceType: 'SearchParameter',
  id: 'suffix',
  url: 'http://example.org/suffix',
  name: 'suffix',
  status: 'active',
  description: 'Suffix of a name',
  code: 'suffix',
  base: ['Patient'],
  type: 'string',
  expression: 'Patient.name.suffix',
  ...given,
})
export const patient = (id: string, suffix?: string, more: Resource = {}): Resource => ({
  resourceType: 'Patient',
  id,
  name: [{ family: 'F', given: [`g${id}`], ...(suffix === undefined ? {} : { suffix: [suffix] }) }],
  ...more,
})
/** Ids found, once the parameter is complete. */
export const find = async (url: string): Promise<string[]> => {
  let found: string[] = []
  await until(
    async () => {
      const answer = await server.inject(url)
      if (answer.statusCode === 503) {
        assert.is(answer.json().issue[0].code, 'transient')
        assert.match(answer.json().issue[0].diagnostics, /being indexed: \d+ of (\d+|all) resources?/)
        return false
      }
      assert.is(answer.statusCode, 200, answer.body)
      found = (answer.json().entry ?? []).map((entry: any) => entry.resource.id).sort()
      return true
    },
    10_000,
    `the index of ${url}`,
  )
  return found
}
export const searchParams = async (type: string): Promise<Resource[]> =>
  (await server.inject('/metadata')).json().rest[0].resource.find((one: any) => one.type === type).searchParam

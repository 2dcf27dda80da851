// database: postgres, the only kind that several servers share
/** Several servers write while one of them is sent a SearchParameter: in every order the index holds what is stored. */
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { type AnyPlugin, type Clock, definePlugin, systemClock } from '../../../kernel/index.ts'
import { Database, sql, type Transaction } from '../../../plugins/database/service.ts'
import { chosenKind, type FreshDatabase } from '../../support/database-kinds.ts'
import { fhirPlugins } from '../../support/fhir-plugins.ts'
import { searchDefinitions } from '../../support/search-definitions.ts'
import { serverWith, type TestServer } from '../../support/server-with.ts'
import { until } from '../../support/until.ts'
import { writersTogether as database } from '../../support/writers-together.ts'

const LOOK_MS = 5_000 // how often a server looks by itself
const headers = { 'content-type': 'application/fhir+json' }
const flush = sql('test.flush', 'SELECT 1 AS one')
let place: FreshDatabase
let one: TestServer
let other: TestServer

/** The other server never looks by itself. */
const blind: Clock = {
  ...systemClock,
  deadline: (ms) => (ms === LOOK_MS ? new AbortController().signal : systemClock.deadline(ms)),
}

/** Stops the next transaction of the other server that writes a resource, before or after its statements are sent. */
interface Stop {
  readonly at: 'before' | 'after'
  readonly reached: () => void
  readonly goOn: Promise<void>
}
let stop: Stop | undefined
const stopNext = (at: Stop['at']): { readonly reached: Promise<void>; goOn(): void } => {
  const reached = Promise.withResolvers<void>()
  const goOn = Promise.withResolvers<void>()
  stop = { at, reached: reached.resolve, goOn: goOn.promise }
  return { reached: reached.promise, goOn: () => goOn.resolve() }
}
const stopping: AnyPlugin = definePlugin({
  ...(database as AnyPlugin),
  setup: (host) =>
    database.setup({
      ...(host as Parameters<typeof database.setup>[0]),
      provide(service, instance) {
        const inner = instance as unknown as Database
        const transact: Database['transact'] = (work, options) =>
          inner.transact(async (transaction) => {
            let writes = false
            const watched: Transaction = Object.create(transaction, {
              run: {
                value: (...given: Parameters<Transaction['run']>) => {
                  writes ||= given[0].name.startsWith('search.')
                  return transaction.run(...given)
                },
              },
            })
            const value = await work(watched)
            const now = stop
            if (!writes || now === undefined) return value
            stop = undefined
            if (now.at === 'after') await transaction.all(flush, [])
            now.reached()
            await now.goOn
            return value
          }, options)
        host.provide(service, (service as unknown) === Database ? ({ ...inner, transact } as never) : instance)
      },
    }),
})

test.before(async () => {
  place = await chosenKind.fresh()
  const options = {
    plugins: [database, searchDefinitions(), ...fhirPlugins],
    settings: { ...place.settings, conformance: { update_as_create: true } },
  }
  one = await serverWith(options)
  other = await serverWith({ ...options, plugins: [stopping, searchDefinitions(), ...fhirPlugins], clock: blind })
})
test.after(async () => {
  await Promise.all([one.stop(), other.stop()])
  await place.remove()
})

const send = async (server: TestServer, method: 'PUT' | 'DELETE', resource: Record<string, unknown>): Promise<void> => {
  const answer = await server.inject({
    method,
    url: `/${resource.resourceType}/${resource.id}`,
    headers,
    ...(method === 'PUT' ? { payload: JSON.stringify(resource) } : {}),
  })
  assert.ok(answer.statusCode < 300, answer.body)
}
const put = (server: TestServer, resource: Record<string, unknown>): Promise<void> => send(server, 'PUT', resource)
const post = async (server: TestServer, resource: Record<string, unknown>): Promise<string> => {
  const answer = await server.inject({ method: 'POST', url: '/Patient', headers, payload: JSON.stringify(resource) })
  assert.is(answer.statusCode, 201, answer.body)
  return answer.json().id
}
const patient = (id: string, suffix: string, given = 'g') => ({
  resourceType: 'Patient',
  id,
  name: [{ given: [given], suffix: [suffix] }],
})
const parameter = (code: string, given: Record<string, unknown> = {}) => ({
  resourceType: 'SearchParameter',
  id: code,
  url: `http://example.org/${code}`,
  name: code,
  status: 'active',
  description: 'x',
  code,
  base: ['Patient'],
  type: 'string',
  expression: 'Patient.name.suffix',
  ...given,
})
const isFilled = async (url: string): Promise<boolean> => (await one.inject(url)).statusCode !== 503
/** So many requests take longer than a fill that waits for nothing. */
const staysUnfilled = async (url: string): Promise<void> => {
  for (let count = 0; count < 25; count += 1) assert.not.ok(await isFilled(url), url)
}
/** Ids that both servers find, once the index is complete. */
const found = async (url: string): Promise<string[]> => {
  await until(() => isFilled(url), 10_000, url)
  const both = await Promise.all(
    [one, other].map(async (server) => {
      const answer = await server.inject(url)
      assert.is(answer.statusCode, 200, answer.body)
      return (answer.json().entry ?? []).map((entry: any) => entry.resource.id).sort() as string[]
    }),
  )
  assert.equal(both[0], both[1])
  return both[0] as string[]
}
const rows = async (code: string, value: string): Promise<string[]> => found(`/Patient?${code}:exact=${value}`)

test('what a server that has not looked yet creates, changes and deletes is indexed by what another was sent', async () => {
  for (const id of ['changed', 'same', 'deleted', 'back']) await put(one, patient(id, 'Old'))
  await put(one, parameter('late'))
  await until(() => isFilled('/Patient?late=x'), 10_000, 'the fill')
  await put(other, patient('made', 'New'))
  await put(other, patient('changed', 'New'))
  await put(other, patient('same', 'Old', 'other'))
  await send(other, 'DELETE', patient('deleted', ''))
  await send(other, 'DELETE', patient('back', ''))
  await put(other, patient('back', 'New'))
  assert.equal(await rows('late', 'New'), ['back', 'changed', 'made'])
  assert.equal(await rows('late', 'Old'), ['same'])
})

for (const at of ['before', 'after'] as const)
  test(`a change that began earlier and is stopped ${at} its statements is indexed`, async () => {
    const [code, value] = [`during-${at}`, `During${at}`]
    for (const act of ['create', 'change', 'delete'] as const) {
      let id = `${at}-${act}`
      const named = `${code}-${act}`
      if (act !== 'create') await put(one, patient(id, 'Was'))
      const { reached, goOn } = stopNext(at)
      const changing =
        act === 'delete'
          ? send(other, 'DELETE', patient(id, ''))
          : act === 'change'
            ? put(other, patient(id, value))
            : post(other, { ...patient(id, value), id: undefined })
      await reached
      try {
        await put(one, parameter(named, { expression: `Patient.name.where('${named}'.exists()).suffix` }))
        // What has locked nothing yet is not waited for, and is undone.
        if (at === 'before' && act === 'create') await until(() => isFilled(`/Patient?${named}=x`), 10_000, named)
        else await staysUnfilled(`/Patient?${named}=x`)
      } finally {
        goOn()
      }
      id = (await changing) ?? id
      const has = await rows(named, value)
      assert.is(has.includes(id), act !== 'delete', `${named}: ${has}`)
      assert.not.ok((await rows(named, 'Was')).includes(id))
    }
  })

// A column of its own.
const GIVEN = "Patient.name.where('again'.exists()).given"

test('a parameter that was retired and comes back holds nothing of what was changed without it', async () => {
  await put(one, parameter('again', { expression: GIVEN }))
  await put(one, patient('r1', 'x', 'First'))
  await put(other, patient('r2', 'x', 'First'))
  assert.equal(await rows('again', 'First'), ['r1', 'r2'])
  await put(one, parameter('again', { status: 'draft', expression: GIVEN }))
  await put(other, patient('r1', 'x', 'Second'))
  const { reached, goOn } = stopNext('after')
  const changing = put(other, patient('r2', 'x', 'Second'))
  await reached
  try {
    await put(one, parameter('again', { expression: GIVEN }))
    await staysUnfilled('/Patient?again=x')
  } finally {
    goOn()
  }
  await changing
  assert.equal(await rows('again', 'First'), [])
  assert.equal(await rows('again', 'Second'), ['r1', 'r2'])
})

test.run()

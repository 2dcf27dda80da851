/** The feed publishes to a replica that other cached data has changed, long before its next regular check. */
// database: postgres, the one kind that has replicas
// waits: for the regular check of a replica that must not be what finds a change
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import type { AnyPlugin } from '../../../kernel/index.ts'
import cluster from '../../../plugins/cluster/index.ts'
import { Database, sql } from '../../../plugins/database/service.ts'
import { insertCatalog } from '../../../plugins/model/tables.ts'
import { Definitions } from '../../../plugins/packages/service.ts'
import { createFullTextIndex } from '../../../plugins/search/index/full-text/text-index.ts'
import { Searches } from '../../../plugins/search/service.ts'
import smart from '../../../plugins/smart/index.ts'
import { chosenKind, type FreshDatabase } from '../../support/database-kinds.ts'
import { createManualClock } from '../../support/manual-clock.ts'
import { whenFollowed } from '../../support/replica-servers.ts'
import { searchDefinitions } from '../../support/search-definitions.ts'
import { basic, serverWith, type TestServer } from '../../support/server-with.ts'
import {
  ASSERTION_TYPE,
  assertionOf,
  CONFIDENTIAL_SECRET,
  DCR_TOKEN,
  ISSUER,
  postForm,
  registerService,
  type Service,
  tokenOf,
} from '../../support/smart-server.ts'
import { until } from '../../support/until.ts'

const NOTICED_MS = 1_000 // spec: a revocation is seen by every server within a second
const FHIR = { 'content-type': 'application/fhir+json' }

interface Pair {
  readonly primary: TestServer
  /** Its clock stands still, so that it makes no regular checks. */
  readonly replica: TestServer
}

const withPair = async (
  work: (pair: Pair) => Promise<void>,
  { isOpen = true, more }: { readonly isOpen?: boolean; readonly more?: AnyPlugin } = {},
): Promise<void> => {
  const definitions = searchDefinitions()
  const plugins = [...basic.map((one) => (one.name === definitions.name ? definitions : one)), smart, cluster]
  const fresh: FreshDatabase = await chosenKind.fresh(plugins)
  const settings = {
    ...fresh.settings,
    server: { bind: '127.0.0.1:0', public_url: ISSUER },
    smart: { enabled: !isOpen, dcr_token: DCR_TOKEN, confidential_secret: CONFIDENTIAL_SECRET },
    conformance: { update_as_create: true },
  }
  const primary = await serverWith({ plugins, settings })
  const replica = await serverWith({
    plugins: plugins.map((one) => (one.name === more?.name ? more : one)),
    clock: createManualClock(Date.now()),
    settings: { ...settings, cluster: { role: 'replica', primary_url: ISSUER } },
  })
  try {
    await whenFollowed(fresh)
    await work({ primary, replica })
  } finally {
    await replica.stop()
    await primary.stop()
    await fresh.remove()
  }
}
const statusOf = async (server: TestServer, token: string): Promise<number> =>
  (await server.inject({ url: '/Patient', headers: { authorization: `Bearer ${token}` } })).statusCode

test('a token that is revoked at the primary is refused by a replica within a second', () =>
  withPair(
    async ({ primary, replica }) => {
      const service: Service = await registerService(primary)
      const refused = async (token: string): Promise<void> =>
        until(async () => (await statusOf(replica, token)) === 401, NOTICED_MS, 'the token to be refused')
      const [revoked, other] = [await tokenOf(primary, service), await tokenOf(primary, service)]
      for (const token of [revoked, other]) assert.is(await statusOf(replica, token), 200)
      const answer = await postForm(primary, '/oauth/revoke', {
        token: revoked,
        client_assertion_type: ASSERTION_TYPE,
        client_assertion: await assertionOf(service),
      })
      assert.is(answer.statusCode, 200, answer.body)
      await refused(revoked)
      assert.is(await statusOf(replica, other), 200)
      // As `server smart clients disable` does, were it the server that writes.
      await primary.get(Database).transact(async (transaction) => {
        const { removeClient } = await import('../../../plugins/smart/clients/clients.ts')
        await removeClient(transaction, service.id, Date.now())
      })
      await refused(other)
    },
    { isOpen: false },
  ))

test('search parameters that are posted to the primary are known to a replica that nobody has asked for them', () =>
  withPair(async ({ primary, replica }) => {
    const { registry } = replica.get(Searches).opened.search
    const has = (): boolean => registry.parameters('Patient').has('nick')
    assert.not.ok(has())
    const parameter = {
      ...{ resourceType: 'SearchParameter', id: 'nick', url: 'http://parameters.example/nick', name: 'nick' },
      ...{ status: 'active', description: 'nick', code: 'nick', base: ['Patient'], type: 'string' },
      expression: 'Patient.name.given',
    }
    const put = async (status: string): Promise<void> => {
      const payload = JSON.stringify({ ...parameter, status })
      const answer = await primary.inject({ method: 'PUT', url: '/SearchParameter/nick', headers: FHIR, payload })
      assert.ok(answer.statusCode < 300, answer.body)
    }
    await put('active')
    await until(has, NOTICED_MS, 'the search parameter')
    // The primary fills its column, which is published to the replica as well.
    await until(() => registry.pending.length === 0, 10_000, 'the column')
    await put('retired')
    await until(() => !has(), NOTICED_MS, 'the search parameter to be gone')
  }))

test('while the words are indexed for another setting, a replica refuses to search for them, and not for anything else', () =>
  withPair(async ({ primary, replica }) => {
    const payload = JSON.stringify({ resourceType: 'Patient', name: [{ text: 'Quince' }] })
    assert.is((await primary.inject({ method: 'POST', url: '/Patient', headers: FHIR, payload })).statusCode, 201)
    const search = async (url: string): Promise<string> => {
      const { statusCode, body } = await replica.inject(url)
      return `${statusCode} ${statusCode === 200 ? JSON.parse(body).entry?.length : JSON.parse(body).issue[0].code}`
    }
    assert.is(await search('/Patient?_content=quince'), '200 1')
    // As the next primary does whose setting is another.
    const fillAs = (mode: 'all' | 'narrative') => createFullTextIndex(primary.get(Database), mode).complete()
    await fillAs('narrative')
    const says = (said: string): Promise<void> =>
      until(async () => (await search('/Patient?_content=quince')) === said, NOTICED_MS, said)
    await says('503 transient')
    assert.is(await search('/Patient?_content=quince OR pear'), '503 transient')
    assert.is(await search('/Patient?name=quince'), '200 1')
    await fillAs('all')
    await says('200 1')
  }))

test('a replica ends as soon as the primary has compiled other packages', () => {
  let fingerprint = ''
  const stub = searchDefinitions()
  // The fingerprint changes when the test changes it.
  const changing: AnyPlugin = {
    ...stub,
    setup(host) {
      const provide: typeof host.provide = (token, service) => {
        if ((token as unknown) !== Definitions) return host.provide(token, service)
        const own = service as unknown as Definitions
        const shown: Definitions = Object.create(own, {
          fingerprint: { get: () => (fingerprint === '' ? own.fingerprint : fingerprint) },
        })
        return host.provide(Definitions, shown)
      }
      return stub.setup({ ...host, provide })
    },
  }
  return withPair(
    async ({ primary, replica }) => {
      let exitCode: number | undefined
      void replica.failed.then((failure) => {
        exitCode = failure.exitCode
      })
      fingerprint = 'other'
      const touch = sql('test.touch', "UPDATE catalog SET body = body WHERE fingerprint = ''")
      await primary.get(Database).transact(async (transaction) => {
        await transaction.run(touch, [])
        transaction.publish({ about: 'packages' })
      })
      assert.is(exitCode, undefined, 'they are not compiled yet')
      await primary.get(Database).transact(async (transaction) => {
        await transaction.run(insertCatalog, [fingerprint, '{}'])
        transaction.publish({ about: 'packages' })
      })
      await until(() => exitCode !== undefined, NOTICED_MS, 'the replica to end')
      assert.is(exitCode, 75)
    },
    { more: changing },
  )
})

test.run()

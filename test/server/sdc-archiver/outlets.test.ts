/**
 * Ways out of the server other than the answer to a request: exports, live queries, Subscriptions, and sessions of callers that
 * were authorized while the archiver was off.
 */
// database: sqlite and postgres, because what is in memory ends with the server
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import type { AnyPlugin } from '../../../kernel/index.ts'
import exportPlugin from '../../../plugins/export/index.ts'
import { Resources } from '../../../plugins/fhir/service.ts'
import jobs from '../../../plugins/jobs/index.ts'
import subscriptions from '../../../plugins/subscriptions/index.ts'
import sync from '../../../plugins/sync/index.ts'
import { chosenKind } from '../../support/database-kinds.ts'
import { type HookReceiver, startHookReceiver } from '../../support/hook-receiver.ts'
import { serverWith, type TestServer } from '../../support/server-with.ts'
import { openSync } from '../../support/sync-client.ts'
import { until } from '../../support/until.ts'
import type { Json } from '../access/worlds.ts'
import { type Archive, archivePlugins, archiveSettings, response, SECRET, toAsk } from './archives.ts'

const TYPE = 'QuestionnaireResponse'
const plugins: readonly AnyPlugin[] = [...archivePlugins, jobs, exportPlugin, sync, subscriptions]

let dir: string
let receiver: HookReceiver
let server: TestServer
let ask: Archive['ask']
let settings: Json
let remove: () => Promise<void>
let before: Json
const closing: (() => Promise<unknown>)[] = []

const open = async (isOn: boolean): Promise<void> => {
  server = await serverWith({
    plugins,
    settings: {
      ...archiveSettings({ features: { sdc_archiver: isOn } }),
      ...settings,
      server: { bind: '127.0.0.1:0' },
      export: { dir },
      subscriptions: { rest_hook_hosts: [receiver.host] },
    },
  })
  ask = toAsk(server)
}
const put = async (one: Json): Promise<void> => {
  const answer = await ask({ method: 'PUT', url: `/${one.resourceType}/${one.id}`, body: one })
  assert.ok(answer.status < 300, answer.text)
}
const subscription = (id: string, criteria: string): Json => ({
  resourceType: 'Subscription',
  id,
  status: 'requested',
  reason: 'a test',
  criteria,
  channel: { type: 'rest-hook', endpoint: `http://${receiver.host}/${id}`, payload: 'application/fhir+json' },
})
const isStatus = (id: string, status: string): Promise<void> =>
  until(
    async () => (await ask({ method: 'GET', url: `/Subscription/${id}` })).json.status === status,
    10_000,
    `${id} to be ${status}`,
  )
const pathOf = (url: unknown): string => String(url).replace(/^https?:\/\/[^/]+/, '')
const exported = async (url: string): Promise<{ job: string; manifest: Json }> => {
  const begun = await ask({ method: 'GET', url, headers: { prefer: 'respond-async' } })
  assert.is(begun.status, 202, begun.text)
  const job = pathOf(begun.headers['content-location'])
  let manifest: Json = {}
  await until(
    async () => {
      const answer = await ask({ method: 'GET', url: job })
      if (answer.status !== 200) return false
      manifest = answer.json
      return true
    },
    20_000,
    'the export to end',
  )
  return { job, manifest }
}

/** What was begun while the archiver was off is on the database that it then finds. */
test.before(async () => {
  dir = mkdtempSync(join(tmpdir(), 'refhir-archiver-'))
  receiver = await startHookReceiver()
  const fresh = await chosenKind.fresh(plugins)
  settings = fresh.settings as Json
  remove = fresh.remove
  await open(false)
  for (const one of [
    { resourceType: 'Patient', id: 'p', active: true },
    {
      resourceType: 'Encounter',
      id: 'e',
      status: 'finished',
      class: { code: 'AMB' },
      subject: { reference: 'Patient/p' },
    },
    response('old'),
    subscription('of-patients', 'Patient?'),
    subscription('of-responses', `${TYPE}?status=completed`),
    subscription('of-chained', 'Patient?_has:QuestionnaireResponse:subject:status=completed'),
  ])
    await put(one)
  for (const id of ['of-patients', 'of-responses', 'of-chained']) await isStatus(id, 'active')
  before = (await exported('/$export')).manifest
  await server.stop()
  await open(true)
})
test.after(async () => {
  for (const close of closing) await close()
  await server.stop()
  await receiver.close()
  await remove()
  rmSync(dir, { recursive: true, force: true })
})

test('an export of all leaves them out, one of the type is refused', async () => {
  const { manifest } = await exported('/$export')
  assert.ok(before.output.some(({ type }: Json) => type === TYPE))
  assert.ok(manifest.output.length > 0)
  assert.not(JSON.stringify(manifest).includes(TYPE))
  for (const url of [`/$export?_type=${TYPE}`, `/Patient/$export?_type=${TYPE},Patient`]) {
    const { status } = await ask({ method: 'GET', url, headers: { prefer: 'respond-async' } })
    assert.is(status, 403, url)
  }
  const { manifest: ofPatients } = await exported('/Patient/$export')
  assert.not(JSON.stringify(ofPatients).includes(TYPE))
})

test('a file of an export from before the archiver is refused, those of other types are not', async () => {
  for (const { type, url } of before.output) {
    const { status, text } = await ask({ method: 'GET', url: pathOf(url) })
    assert.is(status, type === TYPE ? 403 : 200, `${type} ${text.slice(0, 300)}`)
  }
})

test('a live query of them is refused, and others hear nothing of them', async () => {
  const client = await openSync(await server.listen())
  closing.push(() => client.close())
  await client.next(({ op }) => op === 'welcome')
  client.send({ op: 'subscribe', id: 'refused', query: `${TYPE}?status=completed` })
  const { outcome, final } = await client.next(({ op, id }) => op === 'error' && id === 'refused')
  assert.is(final, true)
  assert.is(outcome.issue[0].code, 'forbidden')
  client.send({ op: 'subscribe', id: 'chained', query: `Patient?_has:${TYPE}:subject:status=completed` })
  await client.next(({ op, id }) => op === 'error' && id === 'chained')
  await client.subscribe('patients', 'Patient?active=true')
  await put(response('live'))
  await put({ resourceType: 'Patient', id: 'q', active: true })
  await client.next(({ op, reference }) => op === 'delta' && reference === 'Patient/q')
  assert.not(JSON.stringify(client.messages).includes(SECRET))
})

test('Subscriptions to them from before the archiver send nothing any more', async () => {
  await put(response('sent'))
  await put({ resourceType: 'Patient', id: 'r', active: true })
  await until(() => receiver.numbers('/of-patients').length > 0, 10_000, 'a notification of another type')
  await isStatus('of-responses', 'error')
  const { text } = await ask({ method: 'GET', url: '/Subscription/of-responses' })
  assert.not(text.includes(SECRET))
  assert.ok(!receiver.taken.some(({ body }) => body.includes(SECRET)))
  assert.ok(!receiver.taken.some(({ url }) => url.startsWith('/of-responses')))
  for (const criteria of [`${TYPE}?status=completed`, 'Patient?_has:QuestionnaireResponse:subject:status=completed']) {
    const { status } = await ask({ method: 'PUT', url: '/Subscription/new', body: subscription('new', criteria) })
    assert.is(status, 403, criteria)
  }
})

test('a caller that was stored while the archiver was off does not see them', async () => {
  const session = server.get(Resources).as({
    kind: 'stored',
    caller: { kind: 'client', client: 'app' },
    restrictions: [],
    purpose: 'test',
    baseUrl: 'http://localhost',
  })
  const statusOf = (work: Promise<unknown>): Promise<number> =>
    work.then(
      () => 200,
      ({ status }: Json) => status,
    )
  assert.is(await statusOf(session.read('Patient', 'p')), 200)
  assert.is(await statusOf(session.read(TYPE, 'old')), 403)
  assert.is(await statusOf(session.read(TYPE, 'old', 1)), 403)
  assert.is(await statusOf(session.search(TYPE, '')), 403)
  assert.is(await statusOf(session.matches(TYPE, 'status=completed')), 403)
  assert.is(await statusOf(session.ruling(TYPE)), 403)
  const { matches, included } = await session.search('Patient', '_id=p&_revinclude=*')
  assert.is(matches.length + included.length, 2, JSON.stringify(included))
})

test('the server itself reads them', async () => {
  const session = server.get(Resources).as({ kind: 'internal', purpose: 'test' })
  assert.is((await session.read(TYPE, 'old')).parse().questionnaire, `http://q/${SECRET}`)
})

test.run()

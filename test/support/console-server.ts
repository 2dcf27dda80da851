/** A server with the console and what its pages show, for tests of them. */
import * as assert from 'uvu/assert'
import { type AnyPlugin, definePlugin } from '../../kernel/index.ts'
import audit from '../../plugins/audit/index.ts'
import cluster from '../../plugins/cluster/index.ts'
import consolePlugin from '../../plugins/console/index.ts'
import { Database } from '../../plugins/database/service.ts'
import html from '../../plugins/html/index.ts'
import jobs from '../../plugins/jobs/index.ts'
import { Jobs } from '../../plugins/jobs/service.ts'
import metering from '../../plugins/metering/index.ts'
import requestLog from '../../plugins/request-log/index.ts'
import { tagsOf } from './hostile-texts.ts'
import { createManualClock, type ManualClock } from './manual-clock.ts'
import { named } from './named-callers.ts'
import { basic, serverWith, type TestServer } from './server-with.ts'

export const FHIR = { 'content-type': 'application/fhir+json' }
const BROWSER = { accept: 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8' }
export const PAGES = ['', '/search', '/audit', '/usage', '/jobs', '/slow'].map((path) => `/_console${path}`)
const ON = { console: { enabled: true }, request_log: { store: true }, conformance: { update_as_create: true } }

/** Stores jobs that nobody works on. */
export const addJob = async (server: TestServer, id: string, client: string): Promise<void> => {
  const service = server.get(Jobs)
  const job = { id, kind: 'test', client, person: '', spec: '{"patients":["hidden"]}', ruling: '', upto: 0 }
  await server.get(Database).transact(async (transaction) => service.enqueue(transaction, job))
}
const failing: AnyPlugin = definePlugin({
  name: 'slow-and-failing',
  setup({ routes }) {
    routes((app, _options, done) => {
      app.get('/slow/:id', async (_request, reply) => {
        await clock?.advance(2_500)
        return reply.send('done')
      })
      done()
    })
  },
})
/** Of the server that was started last. */
let clock: ManualClock | undefined
export const clockOfConsole = (): ManualClock | undefined => clock

export const all = [...basic, html, cluster, jobs, metering, requestLog, consolePlugin, audit]
export const withServer = async (
  work: (server: TestServer) => Promise<void>,
  plugins: readonly AnyPlugin[] = [...all, named, failing],
  settings: Record<string, unknown> = ON,
): Promise<void> => {
  clock = createManualClock()
  const server = await serverWith({ plugins, settings, clock })
  try {
    await work(server)
  } finally {
    await server.stop()
  }
}
export const get = (server: TestServer, url: string, headers: Record<string, string> = {}) =>
  server.inject({ url, headers: { ...BROWSER, ...headers } })
export const pageOf = async (server: TestServer, url: string): Promise<string> => {
  const { statusCode, headers, body } = await get(server, url)
  assert.is(statusCode, 200, `${url}: ${body}`)
  assert.is(headers['content-type'], 'text/html; charset=utf-8')
  return body
}
/** What a reader sees, in one line. */
export const textOf = (page: string): string =>
  page
    .replace(/<style>[\s\S]*?<\/style>/, '')
    .replaceAll(/<[^>]*>/g, ' ')
    .replaceAll(/\s+/g, ' ')
export const hrefsOf = (page: string): readonly string[] =>
  tagsOf(page).flatMap(({ attributes }) => attributes.get('href')?.replaceAll('&amp;', '&') ?? [])

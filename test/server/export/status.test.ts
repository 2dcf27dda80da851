/** What a client sees of its export: rows K10 to K14, K16 and K17, by behaviour. */
// npm test: postgres, which is asked statements here that no other file asks
// waits: for exports that are held up
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import limits from '../../../plugins/limits/index.ts'
import smart from '../../../plugins/smart/index.ts'
import { createManualClock } from '../../support/manual-clock.ts'
import { named as namedCallers } from '../../support/named-callers.ts'
import { serverWith } from '../../support/server-with.ts'
import { smartSettings } from '../../support/smart-server.ts'
import { until } from '../../support/until.ts'
import { type Answered, exportClinic, exportPlugins, holdingUp, type Json, patient } from './export-clinic.ts'

const DAY_MS = 86_400_000
const pathOf = (url: string): string => url.replace(/^https?:\/\/[^/]+/, '')
const isOutcome = ({ headers, json }: Answered, code: string): void => {
  assert.match(headers['content-type'], /^application\/fhir\+json/)
  assert.is(json.issue[0].code, code)
}

test('K10: while it runs the status is 202 with progress; who asks too fast gets 429, and the job goes on', async () => {
  const { plugin, release, held } = holdingUp()
  const clock = createManualClock()
  const clinic = await exportClinic({ more: [plugin], clock })
  await clinic.put(patient('p1'))
  const job = await clinic.start('/$export')
  await until(() => held() > 0, 5_000, 'the export to be at work')
  const first = await clinic.ask('GET', job)
  assert.is(first.status, 202)
  assert.ok(first.headers['x-progress'].length > 0 && first.headers['x-progress'].length < 100)
  const seconds = Number(first.headers['retry-after'])
  assert.ok(seconds >= 1)
  const early = await clinic.ask('GET', job)
  assert.is(early.status, 429)
  isOutcome(early, 'throttled')
  assert.ok(Number(early.headers['retry-after']) >= 1)
  await clock.advance(seconds * 1000)
  assert.is((await clinic.ask('GET', job)).status, 202)
  release()
  await until(
    async () => {
      await clock.advance(1_000)
      return (await clinic.ask('GET', job)).status === 200
    },
    5_000,
    'the export to end',
  )
  await clinic.stop()
})

test('what status, files and deletion do not know in their query is refused, and nothing is sent or deleted', async () => {
  const clinic = await exportClinic()
  await clinic.put(patient('p1'))
  const job = await clinic.start('/$export?_type=Patient')
  await clinic.end(job)
  for (const [method, path] of [
    ['GET', `${job}?x=1`],
    ['GET', `${job}/file?prt=2`],
    ['DELETE', `${job}?x=1`],
  ] as const) {
    const refused = await clinic.ask(method, path)
    assert.is(refused.status, 400, path)
    isOutcome(refused, 'not-supported')
  }
  assert.is((await clinic.ask('GET', `${job}/file?part=1`)).status, 200)
  await clinic.stop()
})

test('K11, K12: a finished export answers with its manifest, again and again', async () => {
  const clinic = await exportClinic()
  await clinic.put(patient('p1'), patient('p2'))
  const job = await clinic.start('/$export?_type=Patient', { prefer: 'respond-async, separate-export-status' })
  const { status, headers, json } = await clinic.end(job)
  assert.is(status, 200)
  assert.match(headers['content-type'], /^application\/json/)
  assert.is(headers['preference-applied'], undefined)
  const expires = Date.parse(headers.expires) - Date.now()
  assert.ok(expires > DAY_MS - 60_000 && expires <= DAY_MS)
  assert.ok(Date.parse(json.transactionTime) <= Date.now())
  assert.match(json.request, /^http.*\/\$export\?_type=Patient$/)
  assert.is(json.requiresAccessToken, true)
  assert.equal(
    json.output.map(({ type, count }: Json) => [type, count]),
    [['Patient', 2]],
  )
  assert.match(json.output[0].url, /^http.*\/export\/[0-9a-f]{32}\/file\?part=1$/)
  assert.equal(json.error, [])
  assert.not('deleted' in json)
  assert.equal((await clinic.ask('GET', job)).json, json)
  // The only file needs no number.
  assert.is((await clinic.ask('GET', `${job}/file`)).status, 200)
  for (const part of ['2', '0', '-1', 'x', '1e9', '99999999999999999999', '1&part=1'])
    assert.ok([400, 404].includes((await clinic.ask('GET', `${job}/file?part=${part}`)).status), part)
  assert.is((await clinic.ask('POST', job, {})).status, 405)
  await clinic.stop()
})

test('K13: a failed export is 500 with the same outcome each time, and says nothing of paths', async () => {
  const clinic = await exportClinic({ dir: '/dev/null/nowhere' })
  const job = await clinic.start('/$export')
  const answer = await clinic.end(job)
  assert.is(answer.status, 500)
  isOutcome(answer, 'exception')
  assert.not.match(answer.text, /dev.null|ENOTDIR|ENOENT/)
  assert.is((await clinic.ask('GET', job)).text, answer.text)
  assert.is((await clinic.ask('GET', `${job}/file`)).status, 404)
  assert.is((await clinic.ask('DELETE', job)).status, 202)
  assert.is((await clinic.ask('GET', job)).status, 404)
  await clinic.stop()
})

test('K14: another client and another user see nothing of it, and neither does who makes ids up', async () => {
  const clinic = await exportClinic({ more: [namedCallers] })
  await clinic.put(patient('p1'))
  const own = { 'x-test-client': 'a', 'x-test-user': 'Practitioner/1' }
  const answer = await clinic.ask('GET', '/$export', undefined, own)
  const job = pathOf(answer.headers['content-location'])
  await until(async () => (await clinic.ask('GET', job, undefined, own)).status === 200, 10_000, 'the export')
  assert.is((await clinic.ask('GET', `${job}/file`, undefined, own)).status, 200)
  for (const other of [
    { 'x-test-client': 'b', 'x-test-user': 'Practitioner/1' },
    { 'x-test-client': 'a' },
    { ...own, 'x-test-user': 'Practitioner/2' },
    {},
  ])
    for (const [method, path] of [
      ['GET', job],
      ['GET', `${job}/file`],
      ['GET', `${job}/file?part=1`],
      ['DELETE', job],
    ] as const) {
      const hidden = await clinic.ask(method, path, undefined, other as Record<string, string>)
      assert.is(hidden.status, 404, `${method} ${path} ${JSON.stringify(other)}`)
    }
  const known = (await clinic.ask('GET', job, undefined, { 'x-test-client': 'b' })).text
  assert.is((await clinic.ask('GET', `/export/${'0'.repeat(32)}`, undefined, own)).text, known)
  for (const id of ['x', '..%2f..%2fetc', '%00', 'a'.repeat(1024), `${job.slice(-32)}%0a`])
    for (const path of [`/export/${id}`, `/export/${id}/file`])
      assert.is((await clinic.ask('GET', path, undefined, own)).status, 404, path)
  assert.is((await clinic.ask('GET', job, undefined, own)).status, 200)
  await clinic.stop()
})

test('K14: with SMART, who has no token gets 401 everywhere', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'refhir-export-'))
  const settings = { ...smartSettings(), export: { dir } }
  const server = await serverWith({ plugins: [...exportPlugins, limits, smart], settings })
  for (const [method, url] of [
    ['GET', '/$export'],
    ['GET', '/Patient/$export'],
    ['GET', `/export/${'0'.repeat(32)}`],
    ['GET', `/export/${'0'.repeat(32)}/file`],
    ['DELETE', `/export/${'0'.repeat(32)}`],
  ] as const)
    assert.is((await server.inject({ method, url })).statusCode, 401, `${method} ${url}`)
  await server.stop()
  rmSync(dir, { recursive: true })
})

test('K16: DELETE ends a running export and removes its files; again it is 404; a finished one goes too', async () => {
  const { plugin, release, held } = holdingUp()
  const clinic = await exportClinic({ more: [plugin] })
  await clinic.put(patient('p1'))
  const job = await clinic.start('/$export')
  await until(() => held() > 0 && readdirSync(clinic.dir).length === 1, 5_000, 'the export to be at work')
  const ending = clinic.ask('DELETE', job)
  release()
  assert.is((await ending).status, 202)
  assert.equal(readdirSync(clinic.dir), [])
  for (const method of ['GET', 'DELETE']) {
    const gone = await clinic.ask(method, job)
    assert.is(gone.status, 404)
    isOutcome(gone, 'not-found')
  }
  const other = await clinic.start('/$export')
  await clinic.end(other)
  assert.is(readdirSync(clinic.dir).length, 1)
  assert.is((await clinic.ask('DELETE', other)).status, 202)
  assert.equal(readdirSync(clinic.dir), [])
  assert.is((await clinic.ask('GET', other)).status, 404)
  await clinic.stop()
})

test('K17: a day after its end an export is gone, with its files', async () => {
  const clock = createManualClock()
  const clinic = await exportClinic({ clock })
  await clinic.put(patient('p1'))
  const job = await clinic.start('/$export')
  let status = 0
  await until(
    async () => {
      await clock.advance(1_000)
      status = (await clinic.ask('GET', job)).status
      return status === 200
    },
    10_000,
    'the export',
  )
  await clock.leap(DAY_MS - 120_000)
  assert.is((await clinic.ask('GET', job)).status, 200)
  await clock.leap(121_000)
  // Before the row is cleaned up it is gone for clients.
  assert.is((await clinic.ask('GET', job)).status, 404)
  assert.is((await clinic.ask('GET', `${job}/file`)).status, 404)
  await until(
    async () => {
      await clock.leap(60_000)
      return readdirSync(clinic.dir).length === 0
    },
    5_000,
    'the files to go',
  )
  await clinic.stop()
})

test.run()

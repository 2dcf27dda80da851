/** Marked secrets and names of patients, sent every way there is, appear in no log, no table but the resource's own, no answer of the trail. */

import { existsSync, readFileSync } from 'node:fs'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import type { AnyPlugin } from '../../../kernel/index.ts'
import { Database, sql } from '../../../plugins/database/service.ts'
import { firstParty } from '../../../plugins/index.ts'
import { normalize } from '../../../plugins/search/index/normalize.ts'
import { chosenKind } from '../../support/database-kinds.ts'
import { serverWith, type TestServer } from '../../support/server-with.ts'
import { auditedPlugins } from './audited.ts'

/** Never anywhere. */
const SECRETS = {
  accessToken: 'canary-access-token-0001',
  refreshToken: 'canary-refresh-token-0002',
  idToken: 'canary-id-token-0003',
  code: 'canary-authorization-code-0004',
  verifier: 'canary-code-verifier-0005',
  clientSecret: 'canary-client-secret-0006',
  assertion: 'canary-client-assertion-0007',
  registrationToken: 'canary-dcr-token-0008',
  cookie: 'canary-cookie-0009',
  urlPassword: 'canary-url-password-0010',
  auditKey: 'canary-audit-key-of-the-chain-0011',
} as const
/** In the resource's own tables, and nowhere else. */
const NAMES = {
  family: 'Canaryfamily12',
  given: 'Canarygiven13',
  searched: 'Canarysearched14',
} as const

const others: readonly AnyPlugin[] = firstParty.filter(
  ({ name }) => name === 'request-log' || name === 'metering' || name === 'limits',
)

const resource = {
  resourceType: 'Patient',
  name: [{ family: NAMES.family, given: [NAMES.given], text: `${NAMES.given} ${NAMES.family}` }],
}

const sendAll = async (server: TestServer): Promise<readonly string[]> => {
  const headers = {
    authorization: `Bearer ${SECRETS.accessToken}`,
    cookie: `session=${SECRETS.cookie}`,
    'proxy-authorization': `Basic ${Buffer.from(`u:${SECRETS.clientSecret}`).toString('base64')}`,
    'x-id-token': SECRETS.idToken,
  }
  const json = { ...headers, 'content-type': 'application/fhir+json' }
  const form = { ...headers, 'content-type': 'application/x-www-form-urlencoded' }
  const payload = JSON.stringify(resource)
  const bodies: string[] = []
  const ask = async (method: string, url: string, more: object = {}): Promise<any> => {
    const answer = await server.inject({ method: method as 'GET', url, headers, ...more })
    bodies.push(answer.body)
    return answer.statusCode < 300 && answer.body !== '' && !url.includes('ndjson') ? answer.json() : undefined
  }
  const { id } = await ask('POST', '/Patient', { headers: json, payload })
  await ask('GET', `/Patient/${id}`)
  await ask('GET', `/Patient/${id}/_history/1`)
  await ask('PUT', `/Patient/${id}`, { headers: json, payload: JSON.stringify({ ...resource, id, active: true }) })
  await ask('PATCH', `/Patient/${id}`, {
    headers: { ...headers, 'content-type': 'application/json-patch+json' },
    payload: JSON.stringify([{ op: 'replace', path: '/name/0/family', value: `${NAMES.family}x` }]),
  })
  await ask('GET', `/Patient?family=${NAMES.searched}`)
  await ask('GET', `/Patient?nothing=${NAMES.searched}`)
  await ask('POST', '/Patient/_search', { headers: form, payload: `family=${NAMES.searched}` })
  await ask('GET', '/Patient/_history')
  const entry = [
    { resource, request: { method: 'POST', url: 'Patient' } },
    { request: { method: 'GET', url: `Patient?family=${NAMES.searched}` } },
  ]
  for (const type of ['batch', 'transaction'])
    await ask('POST', '/', { headers: json, payload: JSON.stringify({ resourceType: 'Bundle', type, entry }) })
  const broken = [
    `{"resourceType":"Patient","name":[{"family":"${NAMES.family}"}],`,
    JSON.stringify({ ...resource, nmae: NAMES.family }),
  ]
  for (const text of broken) await ask('POST', '/Patient', { headers: json, payload: text })
  for (const field of [
    `grant_type=authorization_code&code=${SECRETS.code}&code_verifier=${SECRETS.verifier}`,
    `grant_type=refresh_token&refresh_token=${SECRETS.refreshToken}`,
    `grant_type=client_credentials&client_assertion=${SECRETS.assertion}&client_secret=${SECRETS.clientSecret}`,
  ])
    await ask('POST', '/oauth/token', { headers: form, payload: field })
  await ask('GET', `/oauth/authorize?code=${SECRETS.code}&id_token_hint=${SECRETS.idToken}`)
  await ask('POST', '/oauth/register', {
    headers: { ...json, authorization: `Bearer ${SECRETS.registrationToken}` },
    payload: '{}',
  })
  await ask('GET', `/http://user:${SECRETS.urlPassword}@example.org/`)
  await ask('GET', `/Patient/${id}?access_token=${SECRETS.accessToken}`)
  await ask('DELETE', `/Patient/${id}`)
  for (const url of ['/_audit', '/_audit?_format=ndjson', '/_audit/verify', '/_usage', '/_requests', '/metadata'])
    await ask('GET', url)
  return bodies.slice(-6)
}

/** Every value of every table that `wanted` names, as text. */
const tablesAsText = async (server: TestServer, wanted: (table: string) => boolean): Promise<string> => {
  const database = server.get(Database)
  const names = await database.all<{ name: string }>(
    sql('canary.tables', {
      sqlite: "SELECT name FROM sqlite_schema WHERE type = 'table'",
      postgres: "SELECT tablename AS name FROM pg_tables WHERE schemaname = 'public'",
    }),
    [],
  )
  const texts: string[] = []
  for (const { name } of names.filter((one) => wanted(one.name)))
    for (const row of await database.all<Record<string, unknown>>(sql(`canary.${name}`, `SELECT * FROM "${name}"`), []))
      for (const value of Object.values(row))
        texts.push(value instanceof Uint8Array ? Buffer.from(value).toString('latin1') : String(value))
  assert.ok(names.some(({ name }) => name === 'audit_event'))
  return texts.join('\n')
}

const OF_RESOURCES = /^(resource|history|ix_|backlog|catalog|package|definition)/

test('no secret and no name is in a log, in a table that is not the resource’s own, in the file, or in what the trail shows', async () => {
  const { settings, remove } = await chosenKind.fresh()
  const server = await serverWith({
    plugins: [...auditedPlugins.filter(({ name }) => name !== 'gate'), ...others],
    settings: {
      ...settings,
      audit: { key: SECRETS.auditKey },
      ...(others.some(({ name }) => name === 'request-log') && { request_log: { store: true } }),
    },
  })
  const shown = await sendAll(server)
  await server.inject('/_audit')
  const beside = await tablesAsText(server, (name) => !OF_RESOURCES.test(name))
  const everywhere = await tablesAsText(server, () => true)
  // Bodies are packed; the index holds the name as it is compared.
  assert.ok(everywhere.includes(normalize(NAMES.family)), 'the names are where they belong')
  const path = (settings.database as { sqlite_path?: string }).sqlite_path
  const bytesOf = (name: string | undefined): string =>
    name === undefined || !existsSync(name) ? '' : readFileSync(name).toString('latin1')
  const ahead = bytesOf(path && `${path}-wal`)
  if (path !== undefined) assert.ok(ahead.length > 0)
  await server.stop()
  const log = JSON.stringify(server.lines)
  assert.ok(server.lines.length > 3)
  const file = ahead + bytesOf(path)
  for (const [what, mark] of Object.entries(SECRETS)) {
    assert.not.ok(log.includes(mark), `${what} in the log`)
    assert.not.ok(everywhere.includes(mark), `${what} in a table`)
    assert.not.ok(file.includes(mark), `${what} in the file`)
    for (const body of shown) assert.not.ok(body.includes(mark), `${what} in ${body.slice(0, 80)}`)
  }
  for (const [what, mark] of Object.entries(NAMES)) {
    assert.not.ok(log.includes(mark), `${what} in the log`)
    assert.not.ok(beside.includes(mark) || beside.includes(normalize(mark)), `${what} in a table`)
    for (const body of shown) assert.not.ok(body.includes(mark), `${what} in ${body.slice(0, 80)}`)
  }
  await remove()
})

test.run()

/** Sessions: which host is taken, what the server is told, how values come back, how a statement is cancelled. */

import { once } from 'node:events'
import { createServer } from 'node:net'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { createAuthority } from '../../../support/certificates.ts'
import { accessPostgres, withSession } from '../../../support/connect-postgres.ts'
import { type Postgres, startPostgres } from '../../../support/postgres.ts'
import { until } from '../../../support/until.ts'

let server: Postgres
let closedPort: number

test.before(async () => {
  const ca = await createAuthority('test ca')
  server = await startPostgres({
    tls: await ca.issue({ dns: ['localhost'] }),
    hba: ['local all all trust', 'host all refused 127.0.0.1/32 reject', 'host all all 127.0.0.1/32 trust'],
    settings: { max_connections: '12' },
  })
  await server.admin('CREATE ROLE refused LOGIN', 'CREATE ROLE guest LOGIN')
  const probe = createServer().listen(0, '127.0.0.1')
  await once(probe, 'listening')
  closedPort = (probe.address() as { port: number }).port
  probe.close()
})
test.after(() => server?.stop())

const to = (ports: string, more = ''): string =>
  `host=${ports.replace(/\d+/g, '127.0.0.1')} port=${ports} user=guest dbname=postgres ${more}`
const failure = async (text: string): Promise<{ message: string; key: string }> => {
  const { connect } = await accessPostgres(text)
  try {
    await (await connect()).end()
  } catch (error) {
    return error as { message: string; key: string }
  }
  throw new Error('it connected')
}

test('hosts are tried in their order until one takes the connection', async () => {
  const port = await withSession(
    to(`${closedPort},${server.port},${closedPort}`),
    async ({ route }) => route.endpoint.port,
  )
  assert.is(port, server.port)
})

test('when no host can be used the message names each with its reason', async () => {
  const { message } = await failure(`host=127.0.0.1,nowhere.invalid port=${closedPort} user=guest`)
  assert.match(message, new RegExp(`127.0.0.1:${closedPort}: connect ECONNREFUSED`))
  assert.match(message, /nowhere\.invalid .* cannot be resolved/)
  assert.match((await failure(to(`${closedPort}`))).message, /^There is no connection to PostgreSQL at/)
})

test('a host that refuses the user ends the search', async () => {
  const { message, key } = await failure(to(`${server.port},${closedPort}`, '').replace('guest', 'refused'))
  assert.is(key, 'database/postgres-refused')
  assert.match(message, /pg_hba.conf rejects/)
})

test('localhost is tried at each of its addresses', async () => {
  const text = `host=localhost port=${server.port} user=guest dbname=postgres`
  assert.is(await withSession(text, async ({ isUsable }) => isUsable), true)
})

test('target_session_attrs passes over a server that does not suit', async () => {
  for (const suits of ['any', 'primary', 'read-write'])
    assert.is(await withSession(to(`${server.port}`, `target_session_attrs=${suits}`), async (s) => s.isUsable), true)
  for (const not of ['standby', 'read-only']) {
    const { message } = await failure(to(`${server.port}`, `target_session_attrs=${not}`))
    assert.match(message, new RegExp(`not what target_session_attrs=${not} asks for`))
  }
  await server.admin('ALTER ROLE guest SET default_transaction_read_only = on')
  try {
    const { key } = await failure(to(`${server.port}`, 'target_session_attrs=read-write'))
    assert.is(key, 'database/postgres-session-attrs')
    assert.is(await withSession(to(`${server.port}`, 'target_session_attrs=read-only'), async (s) => s.isUsable), true)
  } finally {
    await server.admin('ALTER ROLE guest RESET default_transaction_read_only')
  }
})

test('limits, name and options reach the server with the first message', async () => {
  const limits = { statementTimeoutMs: 4_000, lockTimeoutMs: 3_000, idleInTransactionMs: 2_000 }
  const text = to(`${server.port}`, "application_name=mine options='-c work_mem=9MB'")
  const { connect } = await accessPostgres(text, { limits })
  const session = await connect()
  const names = [
    'statement_timeout',
    'lock_timeout',
    'idle_in_transaction_session_timeout',
    'application_name',
    'work_mem',
  ]
  const values = []
  for (const name of names) values.push((await session.query(`SHOW ${name}`)).rows[0][name])
  await session.end()
  assert.equal(values, ['4s', '3s', '2s', 'mine', '9MB'])
})

test('eight-byte integers come back as exact numbers, and as BigInt where a number would not be exact', async () => {
  const { rows } = await withSession(to(`${server.port}`), (session) =>
    session.query(`SELECT 9007199254740991::int8 AS safe, (-9223372036854775808)::int8 AS least, NULL::int8 AS nothing,
                          ARRAY[1, NULL, 9223372036854775807]::int8[] AS list, '{}'::int8[] AS empty,
                          '\\x00ff'::bytea AS bytes, count(*) FROM generate_series(1, 3)`),
  )
  assert.equal(rows[0], {
    safe: 9007199254740991,
    least: -9223372036854775808n,
    nothing: null,
    list: [1, null, 9223372036854775807n],
    empty: [],
    bytes: Buffer.from([0, 255]),
    count: 3,
  })
})

for (const mode of ['disable', 'require'])
  test(`a running statement is cancelled and its session lives on, with sslmode=${mode}`, async () => {
    const { connect, connector } = await accessPostgres(to(`${server.port}`, `sslmode=${mode}`))
    const session = await connect()
    const running = session.query('SELECT pg_sleep(60)').then(
      () => 'it finished',
      (error) => error.code,
    )
    const { processID } = session.backend
    const isAsleep = async (): Promise<boolean> =>
      (await server.admin(`SELECT wait_event FROM pg_stat_activity WHERE pid = ${processID}`))[0]?.wait_event ===
      'PgSleep'
    await until(isAsleep, 5_000, 'the statement to run')
    await connector.cancel(session)
    assert.is(await running, '57014')
    assert.equal((await session.query('SELECT 1 AS one')).rows, [{ one: 1 }])
    await session.end()
  })

test('a session that is lost in the moment it begins does not end the process', async () => {
  const message = (letter: string, body: string): Buffer => {
    const text = Buffer.from(body, 'latin1')
    const head = Buffer.alloc(5, letter)
    head.writeInt32BE(text.length + 4, 1)
    return Buffer.concat([head, text])
  }
  const fake = createServer((socket) => {
    socket.on('error', () => {})
    // AuthenticationOk, ReadyForQuery and a fatal error in one packet.
    socket.once('data', () =>
      socket.end(
        Buffer.concat([message('R', '\0\0\0\0'), message('Z', 'I'), message('E', 'SFATAL\0VFATAL\0C57P01\0Mgone\0\0')]),
      ),
    )
  }).listen(0, '127.0.0.1')
  await once(fake, 'listening')
  const { port } = fake.address() as { port: number }
  try {
    assert.is(await withSession(to(`${port}`), async ({ isUsable }) => isUsable), false)
  } finally {
    fake.close()
  }
})

test('a server with no connection left is told by its code', async () => {
  const { connect } = await accessPostgres(to(`${server.port}`))
  const open = []
  try {
    for (;;) open.push(await connect())
  } catch (error) {
    assert.match((error as Error).message, /53300/)
  } finally {
    for (const session of open) await session.end()
  }
  assert.ok(open.length > 5)
})

test.run()

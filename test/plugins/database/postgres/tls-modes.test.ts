/** sslmode against a real PostgreSQL; the outcome is what pg_stat_ssl says, not that it connected. */

import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { connect, createServer, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { createAuthority, createSelfSigned, type Issued } from '../../../support/certificates.ts'
import { accessPostgres, withSession } from '../../../support/connect-postgres.ts'
import { type Postgres, startPostgres } from '../../../support/postgres.ts'

// The users of PostgreSQL's own negotiation test, src/interfaces/libpq/t/005_negotiate_encryption.pl.
const HBA = [
  'local     all all       trust',
  'host      all testuser  127.0.0.1/32 trust',
  'hostssl   all ssluser   127.0.0.1/32 trust',
  'hostnossl all nossluser 127.0.0.1/32 trust',
  'host      all pwuser    127.0.0.1/32 scram-sha-256',
  'hostssl   all certuser  127.0.0.1/32 cert',
]
const SECRET = 'hunter2 @/:'
let folder: string
let ca: Issued
let otherCa: Issued
let good: Issued
let withTls: Postgres
let withoutTls: Postgres

const file = async (name: string, text: string, mode = 0o600): Promise<string> => {
  const path = join(folder, name)
  await writeFile(path, text, { mode })
  return path
}

test.before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'refhir-tls-'))
  ;[ca, otherCa] = await Promise.all([createAuthority('test ca'), createAuthority('other ca')])
  good = await ca.issue({ cn: 'ignored', dns: ['db.test'], ip: ['127.0.0.1'] })
  await file('ca.pem', ca.certificate)
  await file('other.pem', otherCa.certificate)
  withTls = await startPostgres({ tls: { ...good, ca: ca.certificate }, hba: HBA })
  withoutTls = await startPostgres({ hba: HBA })
  const roles = ['testuser', 'ssluser', 'nossluser', 'certuser'].map((name) => `CREATE ROLE ${name} LOGIN`)
  for (const server of [withTls, withoutTls])
    await server.admin(...roles, `CREATE ROLE pwuser LOGIN PASSWORD '${SECRET}'`)
})

test.after(async () => {
  await withTls?.stop()
  await withoutTls?.stop()
  await rm(folder, { recursive: true, force: true })
})

test.before.each(() => withTls.useCertificate({ ...good, ca: ca.certificate }))

/** What the server says of the connection. */
const sslOf = (server: Postgres, parameters: string, user = 'testuser', host = '127.0.0.1'): Promise<boolean> =>
  withSession(`host=${host} port=${server.port} user=${user} dbname=postgres ${parameters}`, async (session) => {
    const { processID } = session.backend
    const [row] = await server.admin(`SELECT ssl FROM pg_stat_ssl WHERE pid = ${processID}`)
    assert.is(session.encrypted, row!.ssl)
    return row!.ssl
  })

const failureOf = async (work: Promise<unknown>): Promise<string> => {
  try {
    await work
  } catch (error) {
    return (error as Error).message
  }
  throw new Error('it connected')
}

test('without sslmode there is no TLS although the server offers it, whatever PGSSLMODE says', async () => {
  process.env.PGSSLMODE = 'verify-full'
  process.env.PGSSLNEGOTIATION = 'direct'
  process.env.PGSSLROOTCERT = '/nowhere'
  try {
    assert.is(await sslOf(withTls, ''), false)
    assert.is(await sslOf(withTls, 'sslmode=disable'), false)
  } finally {
    for (const name of ['PGSSLMODE', 'PGSSLNEGOTIATION', 'PGSSLROOTCERT']) delete process.env[name]
  }
})

test('no PG* variable finds its way into a session', async () => {
  const intruders = {
    PGUSER: 'intruder',
    PGPASSWORD: 'intruder',
    PGHOST: '192.0.2.1',
    PGPORT: '1',
    PGDATABASE: 'intruder',
    PGOPTIONS: '-c work_mem=9MB',
    PGAPPNAME: 'intruder',
    PGCLIENT_ENCODING: 'LATIN1',
    PGREPLICATION: 'database',
    PGTZ: 'Asia/Tokyo',
    PGDATESTYLE: 'German',
    PGPASSFILE: '/nowhere',
  }
  Object.assign(process.env, intruders)
  try {
    await withSession(`host=127.0.0.1 port=${withTls.port} user=testuser dbname=postgres`, async (session) => {
      const { rows } = await session.query(
        `SELECT current_user AS "user", current_database() AS database, current_setting('work_mem') AS memory,
                current_setting('application_name') AS name, current_setting('client_encoding') AS encoding,
                current_setting('TimeZone') AS zone, current_setting('DateStyle') AS style`,
      )
      assert.equal(rows[0], {
        user: 'testuser',
        database: 'postgres',
        memory: '4MB',
        name: 'refhir',
        encoding: 'UTF8',
        zone: 'UTC',
        style: 'ISO, MDY',
      })
    })
    const missing = await failureOf(sslOf(withTls, '', 'pwuser'))
    assert.match(missing, /asks for a password and postgres_url holds none/)
  } finally {
    for (const name of Object.keys(intruders)) delete process.env[name]
  }
})

test('disable against a server that takes TLS only fails with its words', async () => {
  const message = await failureOf(sslOf(withTls, 'sslmode=disable', 'ssluser'))
  assert.match(message, /no pg_hba.conf entry/)
})

test('prefer uses TLS where it is offered and goes on in the clear, on the same connection, where it is not', async () => {
  assert.is(await sslOf(withTls, 'sslmode=prefer'), true)
  let connections = 0
  const counter = createServer((socket: Socket) => {
    connections += 1
    const onward = connect(withoutTls.port, '127.0.0.1')
    socket.pipe(onward).pipe(socket)
    socket.on('error', () => onward.destroy())
    onward.on('error', () => socket.destroy())
  }).listen(0, '127.0.0.1')
  await once(counter, 'listening')
  const { port } = counter.address() as { port: number }
  try {
    await withSession(`host=127.0.0.1 port=${port} user=testuser dbname=postgres sslmode=prefer`, async (session) => {
      assert.is(session.encrypted, false)
      const [row] = await withoutTls.admin(`SELECT ssl FROM pg_stat_ssl WHERE pid = ${session.backend.processID}`)
      assert.is(row!.ssl, false)
    })
    assert.is(connections, 1)
  } finally {
    counter.close()
  }
})

test('prefer takes any certificate: expired, of another authority, for another name', async () => {
  const bad = [
    await ca.issue({ dns: ['db.test'], from: -30, to: -1 }),
    await otherCa.issue({ dns: ['db.test'] }),
    await ca.issue({ dns: ['wrong.test'] }),
    await createSelfSigned({ cn: 'self' }),
  ]
  for (const certificate of bad) {
    await withTls.useCertificate(certificate)
    assert.is(await sslOf(withTls, `sslmode=prefer sslrootcert=${folder}/ca.pem`), true)
  }
})

test('prefer connects again in the clear for a user that may not use TLS', async () => {
  assert.is(await sslOf(withTls, 'sslmode=prefer', 'nossluser'), false)
})

test('prefer does not send a wrong password a second time in the clear', async () => {
  const from = withTls.log().length
  const message = await failureOf(sslOf(withTls, `sslmode=prefer password=wrong`, 'pwuser'))
  assert.match(message, /password authentication failed/)
  assert.is(withTls.log().slice(from).split('password authentication failed').length - 1, 1)
})

for (const mode of ['require', 'verify-ca', 'verify-full'])
  test(`${mode} against a server without TLS fails and never goes on in the clear`, async () => {
    const from = withoutTls.log().length
    const root = mode === 'require' ? '' : `sslrootcert=${folder}/ca.pem`
    const message = await failureOf(sslOf(withoutTls, `sslmode=${mode} ${root}`))
    assert.match(message, /server does not support SSL/)
    assert.match(message, new RegExp(`sslmode=${mode} `))
    assert.not.match(withoutTls.log().slice(from), /connection authorized|testuser/)
  })

test('require without sslrootcert takes a certificate of any authority', async () => {
  await withTls.useCertificate(await otherCa.issue({ dns: ['wrong.test'] }))
  assert.is(await sslOf(withTls, 'sslmode=require'), true)
  assert.is(await sslOf(withTls, 'sslmode=require', 'ssluser'), true)
})

test('require with sslrootcert checks the chain and not the name', async () => {
  const parameters = `sslmode=require sslrootcert=${folder}/`
  assert.is(await sslOf(withTls, `${parameters}ca.pem`), true)
  assert.match(await failureOf(sslOf(withTls, `${parameters}other.pem`)), /UNABLE_TO|self.signed|unable to/)
  await withTls.useCertificate(await ca.issue({ dns: ['wrong.test'] }))
  assert.is(await sslOf(withTls, `${parameters}ca.pem`), true)
})

test('a client certificate signs in, and a wrong one does not', async () => {
  const mine = await ca.issue({ cn: 'certuser' })
  const theirs = await otherCa.issue({ cn: 'certuser' })
  const right = `sslcert=${await file('c.pem', mine.certificate)} sslkey=${await file('c.key', mine.key)}`
  const wrong = `sslcert=${await file('o.pem', theirs.certificate)} sslkey=${await file('o.key', theirs.key)}`
  const base = `sslmode=verify-full sslrootcert=${folder}/ca.pem`
  assert.is(await sslOf(withTls, `${base} ${right}`, 'certuser'), true)
  const refused = await failureOf(sslOf(withTls, `${base} ${wrong}`, 'certuser'))
  assert.match(refused, /unknown ca|alert|certificate|closed the connection/i)
  const none = await failureOf(sslOf(withTls, base, 'certuser'))
  assert.match(none, /valid client certificate/)
})

test('a password with every kind of letter signs in, in both forms of the string, and is nowhere in what is said', async () => {
  const url = `postgresql://pwuser:${encodeURIComponent(SECRET)}@127.0.0.1:${withTls.port}/postgres?sslmode=require`
  for (const text of [
    url,
    `${url}&channel_binding=prefer`,
    `host=127.0.0.1 port=${withTls.port} user=pwuser password='${SECRET}' dbname=postgres sslmode=require`,
  ])
    assert.is(await withSession(text, async (session) => session.encrypted), true)
  const { connect: knock, lines } = await accessPostgres(url.replace('/postgres?', '/missing?'))
  const failed = await knock().then(
    () => undefined,
    (error) => error,
  )
  const { inspect } = await import('node:util')
  assert.match(failed.message, /database "missing" does not exist/)
  lines.log.error({ err: failed }, 'failed')
  for (const text of [inspect(failed, { depth: 9, showHidden: true }), lines.text()]) {
    assert.not.ok(text.includes(SECRET))
    assert.not.ok(text.includes(encodeURIComponent(SECRET)))
  }
  await withSession(url, async (session) => {
    assert.not.ok(inspect(session, { depth: 9 }).includes(SECRET))
  })
})

test('over a Unix socket there is no TLS, whatever the mode', async () => {
  for (const parameters of [
    '',
    'sslmode=prefer',
    'sslmode=require',
    `sslmode=verify-full sslrootcert=${folder}/ca.pem`,
    'sslmode=require sslnegotiation=direct',
  ])
    assert.is(await sslOf(withTls, parameters, 'testuser', withTls.dir), false)
  const url = `postgresql://testuser@${encodeURIComponent(withTls.dir)}:${withTls.port}/postgres?sslmode=require`
  assert.is(await withSession(url, async (session) => session.encrypted), false)
})

test.run()

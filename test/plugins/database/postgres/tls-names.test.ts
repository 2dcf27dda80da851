/** verify-ca and verify-full against a real PostgreSQL with one certificate after another. */
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { connect, createServer, type Server } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { createAuthority, createSelfSigned, type Issued } from '../../../support/certificates.ts'
import { readClientHello } from '../../../support/client-hello.ts'
import { withSession } from '../../../support/connect-postgres.ts'
import { type Postgres, startPostgres } from '../../../support/postgres.ts'

let folder: string
let ca: Issued
let otherCa: Issued
let intermediate: Issued
let server: Postgres

test.before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'refhir-tls-'))
  ;[ca, otherCa] = await Promise.all([createAuthority('test ca'), createAuthority('other ca')])
  intermediate = await ca.issue({ cn: 'intermediate', isCa: true })
  const files = {
    ca: ca.certificate,
    other: otherCa.certificate,
    both: ca.certificate + otherCa.certificate,
    turned: otherCa.certificate + ca.certificate,
    intermediate: intermediate.certificate,
  }
  for (const [name, text] of Object.entries(files)) await writeFile(join(folder, `${name}.pem`), text)
  server = await startPostgres({ tls: await ca.issue({ dns: ['db.test'] }) })
})

test.after(async () => {
  await server?.stop()
  await rm(folder, { recursive: true, force: true })
})

/** 'ok' when pg_stat_ssl says TLS; otherwise why there was no connection. The address is always 127.0.0.1. */
const outcome = async (mode: 'verify-ca' | 'verify-full', host: string, root = 'ca'): Promise<string> => {
  const text = `host=${host} hostaddr=127.0.0.1 port=${server.port} user=postgres password=hunter2 sslmode=${mode} sslrootcert=${folder}/${root}.pem`
  try {
    return await withSession(text, async (session) => {
      const [row] = await server.admin(`SELECT ssl FROM pg_stat_ssl WHERE pid = ${session.backend.processID}`)
      return row!.ssl ? 'ok' : 'plain'
    })
  } catch (error) {
    return (error as Error).message
  }
}

const NAME = /not valid for/
const CHAIN = /\((?:CERT|SELF|DEPTH|UNABLE)\w+\)/ // OpenSSL's own verdict

test('verify-ca checks the chain and not the name', async () => {
  await server.useCertificate(await ca.issue({ dns: ['wrong.test'] }))
  assert.is(await outcome('verify-ca', 'db.test'), 'ok')
  await server.useCertificate(await ca.issue({}))
  assert.is(await outcome('verify-ca', 'db.test'), 'ok')
})

const UNTRUSTED: readonly (readonly [string, () => Promise<Issued>])[] = [
  ['of another authority', () => otherCa.issue({ dns: ['db.test'] })],
  ['that vouches for itself', () => createSelfSigned({ dns: ['db.test'] })],
  ['that has expired', () => ca.issue({ dns: ['db.test'], from: -30, to: -1 })],
  ['that is not valid yet', () => ca.issue({ dns: ['db.test'], from: 1, to: 30 })],
]
for (const [what, issue] of UNTRUSTED)
  test(`verify-ca and verify-full refuse a certificate ${what}`, async () => {
    await server.useCertificate(await issue())
    for (const mode of ['verify-ca', 'verify-full'] as const) {
      const said = await outcome(mode, 'db.test')
      assert.match(said, CHAIN)
      assert.match(said, /TLS with PostgreSQL at db.test/)
    }
  })

test('verify-full takes the name of the host in either case', async () => {
  await server.useCertificate(await ca.issue({ dns: ['db.test'] }))
  assert.is(await outcome('verify-full', 'db.test'), 'ok')
  assert.is(await outcome('verify-full', 'DB.TEST'), 'ok')
})

test('verify-full refuses another name, and says both names and no password', async () => {
  await server.useCertificate(await ca.issue({ dns: ['db.test'] }))
  const said = await outcome('verify-full', 'wrong.test')
  assert.match(said, /wrong\.test/)
  assert.match(said, /db\.test/)
  assert.not.match(said, /hunter2/)
  assert.match(await outcome('verify-full', 'test'), NAME)
  assert.match(await outcome('verify-full', 'x.db.test'), NAME)
})

test('a wildcard stands for exactly one label', async () => {
  await server.useCertificate(await ca.issue({ dns: ['*.w.test'] }))
  assert.is(await outcome('verify-full', 'a.w.test'), 'ok')
  assert.match(await outcome('verify-full', 'a.b.w.test'), NAME)
  assert.match(await outcome('verify-full', 'w.test'), NAME)
  await server.useCertificate(await ca.issue({ dns: ['a*.w.test'] }))
  assert.match(await outcome('verify-full', 'ab.w.test'), NAME)
})

test('an IPv4 host is looked for among the addresses of the certificate, not among its names', async () => {
  await server.useCertificate(await ca.issue({ ip: ['127.0.0.1'] }))
  assert.is(await outcome('verify-full', '127.0.0.1'), 'ok')
  await server.useCertificate(await ca.issue({ dns: ['127.0.0.1'] }))
  assert.match(await outcome('verify-full', '127.0.0.1'), NAME)
  await server.useCertificate(await ca.issue({ ip: ['127.0.0.2'] }))
  assert.match(await outcome('verify-full', '127.0.0.1'), NAME)
})

test('an IPv6 host matches whichever way the address is written', async () => {
  await server.useCertificate(await ca.issue({ ip: ['2001:db8:0:0:0:0:0:1'] }))
  assert.is(await outcome('verify-full', '2001:DB8::1'), 'ok')
  assert.is(await outcome('verify-full', '2001:0db8::0001'), 'ok')
  assert.match(await outcome('verify-full', '2001:DB8::2'), NAME)
})

test('certificates are read in any order, and a chain has to lead to a root of the file', async () => {
  await server.useCertificate(await ca.issue({ dns: ['db.test'] }))
  assert.is(await outcome('verify-full', 'db.test', 'both'), 'ok')
  assert.is(await outcome('verify-full', 'db.test', 'turned'), 'ok')
  assert.match(await outcome('verify-full', 'db.test', 'other'), CHAIN)
  const below = await intermediate.issue({ dns: ['db.test'] })
  await server.useCertificate({ ...below, certificate: below.certificate + intermediate.certificate })
  assert.is(await outcome('verify-full', 'db.test'), 'ok')
  assert.match(await outcome('verify-full', 'db.test', 'intermediate'), CHAIN)
  await server.useCertificate(below)
  assert.match(await outcome('verify-full', 'db.test'), CHAIN)
  assert.match(await outcome('verify-full', 'db.test', 'intermediate'), CHAIN)
})

const NAMELESS: readonly (readonly [string, Parameters<Issued['issue']>[0]])[] = [
  ['with a common name alone', { cn: 'db.test' }],
  ['with a common name beside an address', { cn: 'db.test', ip: ['127.0.0.1'] }],
  ['with a common name beside another name', { cn: 'db.test', dns: ['other.test'] }],
  ['without any name', {}],
]
for (const [what, subject] of NAMELESS)
  test(`verify-full refuses a certificate ${what}, and verify-ca takes it`, async () => {
    await server.useCertificate(await ca.issue(subject))
    assert.match(await outcome('verify-full', 'db.test'), NAME)
    assert.is(await outcome('verify-ca', 'db.test'), 'ok')
  })

test('the name is sent with the first message of TLS, an address is not', async () => {
  await server.useCertificate(await ca.issue({ dns: ['db.test'], ip: ['127.0.0.1'] }))
  const hellos: Buffer[] = []
  const proxy: Server = createServer((socket) => {
    const onward = connect(server.port, '127.0.0.1')
    socket.on('data', (bytes) => {
      if (bytes[0] === 0x16) hellos.push(bytes)
    })
    socket.pipe(onward).pipe(socket)
    socket.on('error', () => onward.destroy())
    onward.on('error', () => socket.destroy())
  }).listen(0, '127.0.0.1')
  await once(proxy, 'listening')
  const { port } = proxy.address() as { port: number }
  try {
    for (const host of ['db.test', '127.0.0.1']) {
      const text = `host=${host} hostaddr=127.0.0.1 port=${port} user=postgres sslmode=verify-full sslrootcert=${folder}/ca.pem`
      assert.is(await withSession(text, async (session) => session.encrypted), true)
    }
    assert.equal(
      hellos.map((hello) => readClientHello(hello).serverName),
      ['db.test', undefined],
    )
  } finally {
    proxy.close()
  }
})

test.run()

/** Direct TLS, and servers or middlemen that do not answer the request for TLS as they should. */
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { connect, createServer, type Server, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createSecureContext, createServer as createTlsServer, TLSSocket } from 'node:tls'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { createAuthority, type Issued } from '../../../support/certificates.ts'
import { readClientHello } from '../../../support/client-hello.ts'
import { accessPostgres, withSession } from '../../../support/connect-postgres.ts'
import { type Postgres, startPostgres } from '../../../support/postgres.ts'

const SSL_REQUEST = '0000000804d2162f'
const MODES = ['require', 'verify-ca', 'verify-full', 'prefer'] as const

let folder: string
let ca: Issued
let certificate: Issued
let server: Postgres
const open = new Set<Server>()

test.before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'refhir-tls-'))
  ca = await createAuthority('test ca')
  certificate = await ca.issue({ dns: ['localhost'], ip: ['127.0.0.1'] })
  await writeFile(join(folder, 'ca.pem'), ca.certificate)
  server = await startPostgres({ tls: certificate })
})
test.after(async () => {
  await server?.stop()
  await rm(folder, { recursive: true, force: true })
})
test.after.each(() => {
  for (const one of open) one.close()
  open.clear()
})

/** A server that hears the first bytes of each connection and does with it what `answer` does. Returns its port. */
const fake = async (answer: (socket: Socket, first: Buffer) => void): Promise<number> => {
  const listening = createServer((socket) => {
    socket.on('error', () => {})
    socket.once('data', (first) => answer(socket, first))
  }).listen(0, '127.0.0.1')
  open.add(listening)
  await once(listening, 'listening')
  return (listening.address() as { port: number }).port
}
const relay = (socket: Socket, first: Buffer): void => {
  const onward = connect(server.port, '127.0.0.1')
  onward.write(first)
  onward.on('error', () => socket.destroy())
  socket.pipe(onward).pipe(socket)
}
const stringFor = (port: number, mode: string, more = ''): string =>
  `host=127.0.0.1 port=${port} user=postgres password=hunter2 dbname=postgres sslmode=${mode} ${mode.startsWith('verify') ? `sslrootcert=${folder}/ca.pem` : ''} ${more}`

interface Failure {
  readonly message: string
  readonly key: string
  readonly log: string
  readonly warnings: readonly Record<string, any>[]
}
const failure = async (text: string, connectTimeoutMs = 2_000): Promise<Failure> => {
  const { connect: knock, lines } = await accessPostgres(text, { connectTimeoutMs })
  try {
    await (await knock()).end()
  } catch (error) {
    const { message, key } = error as { message: string; key: string }
    return { message, key, log: lines.text(), warnings: lines.at('warn') }
  }
  throw new Error('it connected')
}

test('direct TLS begins with the first byte, offers ALPN "postgresql" and TLS 1.2 or newer, and connects to PostgreSQL 17', async () => {
  const firsts: Buffer[] = []
  const port = await fake((socket, first) => {
    firsts.push(first)
    relay(socket, first)
  })
  for (const mode of ['require', 'verify-ca', 'verify-full'])
    await withSession(stringFor(port, mode, 'sslnegotiation=direct'), async (session) => {
      const [row] = await server.admin(`SELECT ssl FROM pg_stat_ssl WHERE pid = ${session.backend.processID}`)
      assert.is(row!.ssl, true)
    })
  assert.is(firsts.length, 3)
  for (const first of firsts) {
    const hello = readClientHello(first)
    assert.equal(hello.protocols, ['postgresql'])
    assert.ok(hello.versions.every((version) => version >= 0x0303))
  }
})

test('direct TLS needs an answer with ALPN', async () => {
  const front = createTlsServer({ cert: certificate.certificate, key: certificate.key }, (socket) =>
    socket.on('error', () => {}),
  )
  front.listen(0, '127.0.0.1')
  open.add(front)
  await once(front, 'listening')
  const { port } = front.address() as { port: number }
  const { message } = await failure(stringFor(port, 'require', 'sslnegotiation=direct'))
  assert.match(message, /ALPN/)
})

test('direct TLS against a PostgreSQL older than 17 fails at once, says so and does not try otherwise', async () => {
  const heard: Buffer[] = []
  // "invalid length of startup packet", and it closes.
  const port = await fake((socket, first) => {
    heard.push(first)
    socket.destroy()
  })
  const { message } = await failure(stringFor(port, 'require', 'sslnegotiation=direct'), 5_000)
  assert.match(message, /PostgreSQL 17 or later/)
  assert.is(heard.length, 1)
  assert.is(heard[0]![0], 0x16)
})

test('bytes in the clear behind the answer "S" are refused and logged as evidence of an attack', async () => {
  for (const mode of MODES) {
    const heard: string[] = []
    const port = await fake((socket, first) => {
      heard.push(first.toString('hex'))
      socket.write(Buffer.concat([Buffer.from('S'), Buffer.from('5a0000000549', 'hex')]))
      socket.on('data', (more) => heard.push(more.toString('hex')))
    })
    const { key, message, warnings } = await failure(stringFor(port, mode))
    assert.is(key, 'database/postgres-tls-injected')
    assert.match(message, /CVE-2021-23222/)
    assert.is(warnings.length, 1)
    assert.match(warnings[0]!.msg, /evidence of an attack/)
    assert.equal(heard, [SSL_REQUEST])
  }
})

const ODD: readonly (readonly [string, (socket: Socket) => void, RegExp])[] = [
  ['an error', (socket) => socket.end('E\0\0\0\x2bSFATAL\0C08P01\0Mcall evil.test now\0\0'), /it sent an error/],
  ['a letter that means nothing', (socket) => socket.write('X'), /it sent byte 0x58/],
  ['nothing', () => {}, /did not complete the connection within 150 ms \(waiting for TLS\)/],
  ['the end of the connection', (socket) => socket.end(), /closed the connection/],
]
for (const [what, answer, expected] of ODD)
  test(`${what} for an answer fails within the connect timeout, and what the server says is not shown`, async () => {
    for (const mode of MODES) {
      const heard: string[] = []
      const port = await fake((socket, first) => {
        heard.push(first.toString('hex'))
        answer(socket)
        socket.on('data', (more) => heard.push(more.toString('hex')))
      })
      const { message, log } = await failure(stringFor(port, mode), what === 'nothing' ? 150 : 2_000)
      assert.match(message, expected)
      assert.not.match(message + log, /evil/)
      assert.equal(heard, [SSL_REQUEST], 'nothing was said in the clear')
    }
  })

test('a server that stays silent inside TLS, or after it, fails within the connect timeout', async () => {
  const mute = await fake((socket) => socket.write('S'))
  const { message } = await failure(stringFor(mute, 'require'), 150)
  assert.match(message, /within 150 ms \(waiting for TLS\)/)
  const plain = await fake(() => {})
  const { message: said } = await failure(stringFor(plain, 'disable'), 150)
  assert.match(said, /within 150 ms \(waiting for the session to begin\)/)
})

test('a server that offers TLS 1.1 at most is refused', async () => {
  const secureContext = createSecureContext({
    cert: certificate.certificate,
    key: certificate.key,
    minVersion: 'TLSv1',
    maxVersion: 'TLSv1.1',
    ciphers: 'DEFAULT@SECLEVEL=0',
  })
  const port = await fake((socket) => {
    socket.write('S')
    new TLSSocket(socket, { isServer: true, secureContext }).on('error', () => {})
  })
  for (const mode of ['require', 'verify-ca', 'verify-full']) {
    const { key, message } = await failure(stringFor(port, mode))
    assert.is(key, 'database/postgres-tls-failed')
    assert.match(message, /version/i)
  }
})

test('a middleman that answers "N" gets nothing in the clear from require and above, and everything from prefer', async () => {
  const strip = (heard: string[]) => (socket: Socket, first: Buffer) => {
    heard.push(first.toString('hex'))
    socket.write('N')
    socket.once('data', (next) => relay(socket, next))
  }
  for (const mode of ['require', 'verify-ca', 'verify-full']) {
    const heard: string[] = []
    const { message } = await failure(stringFor(await fake(strip(heard)), mode))
    assert.match(message, /server does not support SSL/)
    assert.equal(heard, [SSL_REQUEST])
  }
  // The documented weakness of prefer.
  const encrypted = await withSession(stringFor(await fake(strip([])), 'prefer'), async (session) => session.encrypted)
  assert.is(encrypted, false)
})

test.run()

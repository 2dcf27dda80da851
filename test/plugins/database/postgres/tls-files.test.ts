/** Certificate files: refused at start when they cannot be used, re-read while the server runs. */
import { chmod, chown, mkdir, mkdtemp, rename, rm, symlink, utimes, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { createAuthority, type Issued } from '../../../support/certificates.ts'
import { type Access, accessPostgres } from '../../../support/connect-postgres.ts'
import { type Postgres, startPostgres } from '../../../support/postgres.ts'

let folder: string
let ca: Issued
let newCa: Issued
let server: Postgres
const write = async (name: string, text: string, mode = 0o600): Promise<string> => {
  const path = join(folder, name)
  await writeFile(path, text, { mode })
  await chmod(path, mode)
  return path
}

test.before(async () => {
  ;[ca, newCa] = await Promise.all([createAuthority('old ca'), createAuthority('new ca')])
  server = await startPostgres({ tls: { ...(await ca.issue({ dns: ['db.test'] })), ca: ca.certificate } })
})
test.before.each(async () => {
  folder = await mkdtemp(join(tmpdir(), 'refhir-tls-'))
})
test.after.each(() => rm(folder, { recursive: true, force: true }))
test.after(() => server?.stop())

/** The server shows a certificate of this authority; client certificates are always the old one's. */
const serve = async (authority: Issued): Promise<void> =>
  server.useCertificate({ ...(await authority.issue({ dns: ['db.test'] })), ca: ca.certificate })
const access = (parameters: string): Promise<Access> =>
  accessPostgres(`host=db.test hostaddr=127.0.0.1 port=${server.port} user=postgres ${parameters}`)
const refusal = async (parameters: string): Promise<string> =>
  access(parameters).then(
    () => {
      throw new Error('it was accepted')
    },
    (error) => error.message,
  )
/** 'ok' or why not. */
const attempt = async ({ connect }: Access): Promise<string> => {
  try {
    const session = await connect()
    assert.is(session.encrypted, true)
    await session.end()
    return 'ok'
  } catch (error) {
    return (error as Error).message
  }
}

test('an sslrootcert that is missing, empty, garbage or cut off is refused at start in every mode that takes one', async () => {
  const text = ca.certificate
  const bad: readonly (readonly [string, RegExp])[] = [
    [join(folder, 'missing.pem'), /cannot be read \(ENOENT\)/],
    [folder, /not a regular file/],
    [await write('empty.pem', ''), /no certificate/],
    [await write('garbage.pem', 'garbage'), /no certificate/],
    [await write('damaged.pem', text.replace(/[A-Za-z]{10}/g, 'AAAAAAAAAA')), /no certificate|damaged/],
    [await write('cut.pem', text + text.slice(0, text.length / 2)), /cut off/],
    [await write('key.pem', ca.key), /no certificate/],
    [
      await write('der.pem', Buffer.from(text.split('\n').slice(1, -2).join(''), 'base64').toString('latin1')),
      /no cert/,
    ],
  ]
  for (const [path, why] of bad)
    for (const mode of ['prefer', 'require', 'verify-ca', 'verify-full']) {
      const message = await refusal(`sslmode=${mode} sslrootcert=${path}`)
      assert.match(message, why)
      assert.ok(message.includes(`sslrootcert=${path}`))
    }
})

test('a client certificate is used with its own key only, kept from others and unencrypted', async () => {
  const mine = await ca.issue({ cn: 'mine' })
  const other = await ca.issue({ cn: 'other' })
  const cert = await write('mine.pem', mine.certificate)
  const with_ = (key: string): string => `sslmode=require sslcert=${cert} sslkey=${key}`
  assert.is(await attempt(await access(with_(await write('ok.key', mine.key)))), 'ok')
  assert.match(await refusal(with_(await write('open.key', mine.key, 0o644))), /group or world access/)
  assert.match(await refusal(with_(await write('other.key', other.key))), /not the key of the certificate/)
  assert.match(await refusal(with_(await write('locked.key', mine.encryptedKey('hunter2')))), /is encrypted/)
  assert.match(await refusal(with_(await write('no.key', mine.certificate))), /no private key/)
  assert.match(await refusal(with_(join(folder, 'missing.key'))), /sslkey=.*ENOENT/)
  assert.match(await refusal(`sslmode=require sslcert=${folder}/x sslkey=${folder}/ok.key`), /sslcert=.*ENOENT/)
})

test("a key that root's group may read is taken where root owns it, and only there", async () => {
  const mine = await ca.issue({ cn: 'mine' })
  const cert = await write('mine.pem', mine.certificate)
  const key = await write('group.key', mine.key, 0o640)
  const parameters = `sslmode=require sslcert=${cert} sslkey=${key}`
  if (process.getuid?.() === 0) {
    assert.is(await attempt(await access(parameters)), 'ok')
    await chown(key, 65_534, 65_534)
  }
  assert.match(await refusal(parameters), /group or world access/)
})

test('a renewed authority is taken up by the next connection, and old connections live on', async () => {
  await serve(ca)
  const path = await write('ca.pem', ca.certificate)
  const connection = await access(`sslmode=verify-full sslrootcert=${path}`)
  const session = await connection.connect()
  await serve(newCa)
  assert.match(await attempt(connection), /certificate/)
  await writeFile(path, newCa.certificate)
  assert.is(await attempt(connection), 'ok')
  assert.equal((await session.query('SELECT 1 AS one')).rows, [{ one: 1 }])
  await session.end()
})

test('a Kubernetes secret is followed when its ..data link moves', async () => {
  await serve(newCa)
  for (const [name, text] of [
    ['..2024_01', ca.certificate],
    ['..2024_02', newCa.certificate],
  ] as const) {
    await mkdir(join(folder, name))
    await writeFile(join(folder, name, 'ca.pem'), text)
    const written = new Date(name === '..2024_01' ? '2024-01-01' : '2024-02-01')
    await utimes(join(folder, name, 'ca.pem'), written, written)
  }
  await symlink('..2024_01', join(folder, '..data'))
  await symlink('..data/ca.pem', join(folder, 'ca.pem'))
  const connection = await access(`sslmode=verify-full sslrootcert=${folder}/ca.pem`)
  assert.match(await attempt(connection), /certificate/)
  await symlink('..2024_02', join(folder, '..data_tmp'))
  await rename(join(folder, '..data_tmp'), join(folder, '..data'))
  assert.is(await attempt(connection), 'ok')
})

test('the modification time alone decides whether a file is read again', async () => {
  await serve(ca)
  const path = await write('ca.pem', ca.certificate)
  const when = new Date('2024-01-01T00:00:00Z')
  await utimes(path, when, when)
  const connection = await access(`sslmode=verify-full sslrootcert=${path}`)
  await writeFile(path, newCa.certificate)
  await utimes(path, when, when)
  assert.is(await attempt(connection), 'ok', 'the old content is still in use')
  await utimes(path, when, new Date('2024-01-01T00:00:01Z'))
  assert.match(await attempt(connection), /certificate/)
})

test('a file that is half written changes nothing, warns once, and is tried again', async () => {
  await serve(ca)
  const path = await write('ca.pem', ca.certificate)
  const connection = await access(`sslmode=verify-full sslrootcert=${path}`)
  const text = newCa.certificate
  const when = new Date('2024-01-01T00:00:00Z')
  for (const part of [text.slice(0, 100), text.slice(0, text.length / 2), '']) {
    await writeFile(path, part)
    await utimes(path, when, when)
    assert.is(await attempt(connection), 'ok')
  }
  await rm(path)
  assert.is(await attempt(connection), 'ok')
  assert.is(connection.lines.at('warn').length, 1)
  assert.match(connection.lines.at('warn')[0]!.msg, /old ones stay in use/)
  // Complete at last, and with the time it had while it was broken.
  await writeFile(path, text)
  await utimes(path, when, when)
  assert.match(await attempt(connection), /certificate/)
  await serve(newCa)
  assert.is(await attempt(connection), 'ok')
  assert.is(connection.lines.at('warn').length, 1)
})

test('a client certificate and its key are exchanged together', async () => {
  await serve(ca)
  const [old, next] = [await ca.issue({ cn: 'old' }), await ca.issue({ cn: 'next' })]
  const [cert, key] = [await write('c.pem', old.certificate), await write('c.key', old.key)]
  const connection = await access(`sslmode=require sslcert=${cert} sslkey=${key}`)
  const before = await connection.files.current()
  await writeFile(cert, next.certificate)
  assert.is(await connection.files.current(), before, 'the new certificate waits for its key')
  assert.is(connection.lines.at('warn').length, 1)
  await writeFile(key, next.key)
  assert.is.not(await connection.files.current(), before)
  assert.is(await attempt(connection), 'ok')
})

test.run()

/** `server backup` and `server restore`: a copy made beside a server that writes, and a database made of it. */
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import BetterSqlite from 'better-sqlite3'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { createKernel } from '../../kernel/index.ts'
import audit from '../../plugins/audit/index.ts'
import backup from '../../plugins/backup/index.ts'
import { basic } from '../support/server-with.ts'
import { createWorld, type Ran } from '../support/world.ts'

const KEY = 'a key of the chain for tests'
const plugins = [...basic, audit, backup]

const startOn = async (path: string) => {
  const settings = { database: { kind: 'sqlite', sqlite_path: path }, audit: { key: KEY } }
  const kernel = await createKernel({ plugins, settings, log: { level: 'silent' } })
  await kernel.start()
  return kernel
}
type Server = Awaited<ReturnType<typeof startOn>>

const create = async (server: Server, family: string): Promise<string> => {
  const { statusCode, headers } = await server.inject({
    method: 'POST',
    url: '/Patient',
    headers: { 'content-type': 'application/fhir+json' },
    payload: JSON.stringify({ resourceType: 'Patient', name: [{ family }] }),
  })
  assert.is(statusCode, 201)
  return String(headers.location).split('/').at(-3) as string
}
const get = async (server: Server, url: string) => {
  const { statusCode, payload } = await server.inject({ url })
  return { status: statusCode, body: JSON.parse(payload) }
}

interface Place {
  readonly folder: string
  readonly path: string
  run(...argv: string[]): Promise<Ran>
}
const inFolder = (work: (place: Place) => Promise<void>) => async (): Promise<void> => {
  const world = createWorld()
  const { folder } = world
  const run: Place['run'] = (...argv) =>
    createWorld({ plugins, folder, argv, environment: { SERVER_AUDIT_KEY: KEY } }).run()
  try {
    await work({ folder, path: join(folder, 'a.sqlite'), run })
  } finally {
    world.remove()
  }
}

test(
  'a backup made while resources are created holds all that were acknowledged before it, and is whole',
  inFolder(async ({ folder, path, run }) => {
    const copy = join(folder, 'copy.sqlite')
    const server = await startOn(path)
    const before: string[] = []
    for (let n = 0; n < 50; n += 1) before.push(await create(server, `Before${n}`))
    let [isDone, during] = [false, 0]
    const writing = (async () => {
      while (!isDone) {
        await create(server, `During${during}`)
        during += 1
      }
    })()
    const made = await run('backup', copy, '--sqlite', path)
    isDone = true
    await writing
    assert.is(made.code, 0, made.stderr)
    assert.match(made.stdout, /copy\.sqlite: \d+ bytes, checked\n$/)
    await create(server, 'Behind')
    await server.stop()

    const restored = join(folder, 'b.sqlite')
    const { code, stderr } = await run('restore', copy, '--sqlite', restored)
    assert.is(code, 0, stderr)
    const again = await startOn(restored)
    try {
      for (const id of before) assert.is((await get(again, `/Patient/${id}`)).status, 200)
      const found = await get(again, '/Patient?_content=Before7')
      assert.is(found.body.entry[0].resource.id, before[7])
      assert.is((await get(again, '/Patient?_content=Behind')).body.entry, undefined)
      const { total } = (await get(again, '/Patient?_summary=count')).body
      assert.ok(total >= 50 && total <= 50 + during, String(total))
      await create(again, 'Next')
      assert.is((await get(again, '/_audit/verify')).body.ok, true)
    } finally {
      await again.stop()
    }
  }),
)

test(
  'the audit trail says once that its database was restored',
  inFolder(async ({ folder, path, run }) => {
    const first = await startOn(path)
    await create(first, 'One')
    await first.stop()
    const copy = join(folder, 'copy.sqlite')
    assert.is((await run('backup', copy, '--sqlite', path)).code, 0)
    const restored = join(folder, 'b.sqlite')
    assert.is((await run('restore', copy, '--sqlite', restored)).code, 0)
    for (let start = 0; start < 2; start += 1) {
      const server = await startOn(restored)
      const { entry = [] } = (await get(server, '/_audit?subtype=restore')).body
      assert.is(entry.length, 1)
      await server.stop()
    }
    assert.is((await run('audit', 'verify', '--sqlite', restored)).code, 0)
  }),
)

test(
  'of two backups to one name one is made, and the other one says that it exists',
  inFolder(async ({ folder, path, run }) => {
    const server = await startOn(path)
    for (let n = 0; n < 20; n += 1) await create(server, `Person${n}`)
    const copy = join(folder, 'copy.sqlite')
    const both = await Promise.all([run('backup', copy, '--sqlite', path), run('backup', copy, '--sqlite', path)])
    assert.equal(both.map(({ code }) => code).sort(), [0, 1], both.map(({ stderr }) => stderr).join(''))
    assert.match(both.find(({ code }) => code === 1)?.stderr ?? '', /copy\.sqlite exists and was left unchanged/)
    await server.stop()
    assert.equal(
      readdirSync(folder).filter((name) => name.startsWith('copy')),
      ['copy.sqlite'],
    )
    assert.is((await run('restore', copy, '--sqlite', join(folder, 'b.sqlite'))).code, 0)
    const nowhere = await run('backup', join(folder, 'no/copy.sqlite'), '--sqlite', path)
    assert.is(nowhere.code, 1)
    assert.match(
      nowhere.stderr,
      /^server: The backup cannot be written to [^\n]+no\/copy\.sqlite, because there is no such folder/,
    )
  }),
)

test(
  'neither command replaces a file',
  inFolder(async ({ folder, path, run }) => {
    const server = await startOn(path)
    await create(server, 'One')
    await server.stop()
    const copy = join(folder, 'copy.sqlite')
    writeFileSync(copy, 'mine')
    const refused = await run('backup', copy, '--sqlite', path)
    assert.is(refused.code, 1)
    assert.match(refused.stderr, /^server: [^\n]+copy\.sqlite exists and was left unchanged[^\n]+\n$/)
    assert.is(readFileSync(copy, 'utf8'), 'mine')
    const other = join(folder, 'other.sqlite')
    assert.is((await run('backup', other, '--sqlite', path)).code, 0)
    const bytes = readFileSync(path)
    const onto = await run('restore', other, '--sqlite', path)
    assert.is(onto.code, 1)
    assert.match(onto.stderr, /^server: [^\n]+a\.sqlite exists: a restore overwrites nothing[^\n]+\n$/)
    assert.equal(readFileSync(path), bytes)
    const beside = join(folder, 'c.sqlite')
    writeFileSync(`${beside}-wal`, 'of another database')
    assert.match((await run('restore', other, '--sqlite', beside)).stderr, /c\.sqlite-wal exists/)
    assert.not(existsSync(beside))
  }),
)

test(
  'what is no backup, or is damaged, is refused with the reason, and leaves nothing',
  inFolder(async ({ folder, path, run }) => {
    const server = await startOn(path)
    for (let n = 0; n < 20; n += 1) await create(server, `Person${n}`)
    await server.stop()
    const copy = join(folder, 'copy.sqlite')
    assert.is((await run('backup', copy, '--sqlite', path)).code, 0)
    const target = join(folder, 'new', 'b.sqlite')
    mkdirSync(join(folder, 'new'))
    const refuses = async (bytes: Buffer | string, reason: RegExp): Promise<void> => {
      const odd = join(folder, 'odd.sqlite')
      writeFileSync(odd, bytes)
      const { code, stderr } = await run('restore', odd, '--sqlite', target)
      assert.ok(code > 0)
      assert.match(stderr, reason)
      assert.is(stderr.trimEnd().split('\n').length, 1)
      assert.equal(readdirSync(join(folder, 'new')), [])
    }
    const whole = readFileSync(copy)
    await refuses('text', /not a SQLite file/)
    await refuses('', /is empty/)
    await refuses(whole.subarray(0, whole.length / 2), /damaged|bytes/)
    const scratched = Buffer.from(whole)
    scratched.fill(0xff, 4_096 * 3, 4_096 * 6)
    await refuses(scratched, /damaged/)
    const foreign = join(folder, 'foreign.sqlite')
    const handle = new BetterSqlite(foreign)
    handle.exec('CREATE TABLE a (b)')
    handle.close()
    await refuses(readFileSync(foreign), /made by another application/)
    const missing = await run('restore', join(folder, 'none'), '--sqlite', target)
    assert.is(missing.code, 2)
    assert.match(missing.stderr, /There is no backup/)
  }),
)

test(
  'a database that is not there, in memory, or on PostgreSQL is refused, and a backup needs its file name',
  inFolder(async ({ folder, path, run }) => {
    const copy = join(folder, 'copy.sqlite')
    assert.is((await run('backup', copy, '--sqlite', path)).code, 2)
    assert.not(existsSync(path))
    assert.match((await run('backup', copy, '--memory')).stderr, /kind memory/)
    assert.match((await run('backup', copy, '--postgres', 'postgresql://x@127.0.0.1/x')).stderr, /pg_dump/)
    assert.is((await run('backup', '--sqlite', path)).code, 2)
    assert.not(existsSync(copy))
  }),
)

test.run()

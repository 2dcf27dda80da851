/** A SQLite file that is removed or replaced under the server: nothing is acknowledged any more, and what was is saved. */
// database: sqlite, because it is what has a file
import { copyFileSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { Database, sql } from '../../plugins/database/service.ts'
import { temporaryFolder } from '../support/database-kinds.ts'
import { basic, serverWith, type TestServer } from '../support/server-with.ts'
import { spawnServer } from '../support/spawn-server.ts'
import { until } from '../support/until.ts'

const folder = temporaryFolder()
test.after(() => folder.remove())
let made = 0
const freshPath = (): string => {
  made += 1
  mkdirSync(join(folder.path, String(made)))
  return join(folder.path, String(made), 'test.sqlite')
}
const settingsOf = (path: string) => ({ database: { kind: 'sqlite', sqlite_path: path } })
const start = (path: string): Promise<TestServer> => serverWith({ plugins: basic, settings: settingsOf(path) })

const create = (server: TestServer) =>
  server.inject({
    method: 'POST',
    url: '/Patient',
    headers: { 'content-type': 'application/fhir+json' },
    payload: '{"resourceType":"Patient"}',
  })
const createSome = async (server: TestServer): Promise<string[]> => {
  const answers = await Promise.all(Array.from({ length: 20 }, () => create(server)))
  return answers.map((answer) => (answer.json() as { id: string }).id)
}
const errorsOf = (server: TestServer) => server.lines.filter(({ level }) => level === 'error')
const savedIn = (path: string): string[] =>
  readdirSync(join(path, '..')).filter((name) => /^test\.sqlite-saved-[0-9TZ]+$/.test(name))

const LOSSES: Readonly<Record<string, { readonly lose: (path: string) => void; readonly fault: RegExp }>> = {
  'the file is removed': { lose: (path) => rmSync(path), fault: /test\.sqlite was removed/ },
  'the file is moved away': { lose: (path) => renameSync(path, `${path}.old`), fault: /test\.sqlite was removed/ },
  'another file is moved over it': {
    lose: (path) => {
      copyFileSync(path, `${path}.other`)
      renameSync(`${path}.other`, path)
    },
    fault: /test\.sqlite was replaced/,
  },
  'its log is removed': { lose: (path) => rmSync(`${path}-wal`), fault: /test\.sqlite-wal was removed/ },
}

for (const [what, { lose, fault }] of Object.entries(LOSSES))
  test(`${what}: a write is 503, /readyz too, the log says it once, reads go on, and a copy has all that was acknowledged`, async () => {
    const path = freshPath()
    const server = await start(path)
    const ids = await createSome(server)
    lose(path)
    const refused = await create(server)
    assert.is(refused.statusCode, 503, refused.body)
    assert.match(refused.body, /removed or replaced/)
    // It was committed before the look, and is in the copy.
    assert.match(refused.body, /may or may not have been stored. Look before you try again/)
    assert.not.match(refused.body, /nothing was stored/)
    assert.is((await create(server)).statusCode, 503)
    assert.is((await server.inject('/readyz')).statusCode, 503)
    assert.match((await server.inject('/readyz')).body, /removed or replaced/)
    assert.is((await server.inject(`/Patient/${ids[0]}`)).statusCode, 200)
    assert.is((await server.inject('/Patient?_count=5&_total=accurate')).statusCode, 200)
    await server.stop()
    const told = errorsOf(server)
    assert.is(told.length, 1, JSON.stringify(told.map(({ msg, key, err }) => [msg, key, err])))
    assert.match(String(told[0]?.msg), fault)
    assert.match(String(told[0]?.msg), /stop the server/)
    const [saved = '', ...others] = savedIn(path)
    assert.equal(others, [])
    rmSync(path, { force: true })
    renameSync(join(path, '..', saved), path)
    const again = await start(path)
    for (const id of ids) assert.is((await again.inject(`/Patient/${id}`)).statusCode, 200)
    await again.stop()
  })

test('without a write readiness finds out by itself', async () => {
  const path = freshPath()
  const server = await start(path)
  assert.is((await server.inject('/readyz')).statusCode, 200)
  rmSync(path)
  await until(async () => (await server.inject('/readyz')).statusCode === 503, 5_000, '/readyz to be 503')
  assert.is((await create(server)).statusCode, 503)
  await server.stop()
})

test('the copy is made as well when a transaction is open at that moment, and changes that wait behind it are refused', async () => {
  const path = freshPath()
  const server = await start(path)
  const ids = await createSome(server)
  const turns = async (count: number): Promise<void> => {
    for (let turn = 0; turn < count; turn += 1) await new Promise(setImmediate)
  }
  const waiting: ReturnType<typeof create>[] = []
  const open = server.get(Database).transact(async (transaction) => {
    transaction.run(sql('test.write', 'UPDATE resource_type SET name = name'), [])
    rmSync(path)
    assert.is((await server.inject('/readyz')).statusCode, 503)
    for (let count = 0; count < 5; count += 1) waiting.push(create(server))
    await turns(50)
  })
  assert.match(await open.then(String, ({ message }: Error) => message), /removed or replaced/)
  for (const one of waiting) assert.is((await one).statusCode, 503)
  await server.stop()
  const [saved = '', ...others] = savedIn(path)
  assert.equal(others, [])
  renameSync(join(path, '..', saved), path)
  const again = await start(path)
  for (const id of ids) assert.is((await again.inject(`/Patient/${id}`)).statusCode, 200)
  await again.stop()
})

test('a file that was moved over it is left as it is when the server stops', async () => {
  const path = freshPath()
  const other = freshPath()
  const first = await start(other)
  const [known] = await createSome(first)
  await first.stop()
  const server = await start(path)
  await createSome(server)
  const bytes = readFileSync(other)
  renameSync(other, path)
  assert.is((await create(server)).statusCode, 503)
  await server.stop()
  assert.ok(readFileSync(path).equals(bytes))
  assert.not.ok(readdirSync(join(path, '..')).includes('test.sqlite-wal'))
  const again = await start(path)
  assert.is((await again.inject(`/Patient/${known}`)).statusCode, 200)
  await again.stop()
})

test('a folder that was emptied and given to another server: when the first one stops the other loses nothing', async () => {
  const path = freshPath()
  const first = await start(path)
  await createSome(first)
  rmSync(join(path, '..'), { recursive: true })
  mkdirSync(join(path, '..'))
  const second = await spawnServer(path)
  const post = await fetch(`${second.base}/Patient`, {
    method: 'POST',
    headers: { 'content-type': 'application/fhir+json' },
    body: '{"resourceType":"Patient"}',
  })
  assert.is(post.status, 201)
  const { id } = (await post.json()) as { id: string }
  const log = statSync(`${path}-wal`).ino
  assert.is((await create(first)).statusCode, 503)
  await first.stop()
  assert.is(statSync(`${path}-wal`).ino, log)
  await second.kill()
  const again = await start(path)
  assert.is((await again.inject(`/Patient/${id}`)).statusCode, 200)
  await again.stop()
})

test.run()

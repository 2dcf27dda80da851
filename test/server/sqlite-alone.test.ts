/** One server for each SQLite file: a second one waits and logs who has it; what only reads does not wait. */
// database: sqlite, because it is what one process writes alone
import { existsSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { createKernel } from '../../kernel/index.ts'
import audit from '../../plugins/audit/index.ts'
import jobs from '../../plugins/jobs/index.ts'
import reindex from '../../plugins/reindex/index.ts'
import { temporaryFolder } from '../support/database-kinds.ts'
import { createManualClock } from '../support/manual-clock.ts'
import { basic, serverWith, type TestServer } from '../support/server-with.ts'
import { type SpawnedServer, spawnServer } from '../support/spawn-server.ts'
import { until } from '../support/until.ts'
import { createWorld, type Ran } from '../support/world.ts'

const folder = temporaryFolder()
test.after(() => folder.remove())
let made = 0
const freshPath = (): string => {
  made += 1
  mkdirSync(join(folder.path, String(made)))
  return join(folder.path, String(made), 'test.sqlite')
}
const start = (path: string): Promise<TestServer> =>
  serverWith({ plugins: basic, settings: { database: { kind: 'sqlite', sqlite_path: path } } })
/** Who has the file, in the words of a server that waits for it; else the outcome of its start. */
const refusalOf = async (path: string): Promise<string> => {
  let holder: string | undefined
  const write = (line: string): void => {
    const { msg, holder: told } = JSON.parse(line) as { msg?: string; holder?: string }
    if (msg === 'waiting for the writer lease') holder = told
  }
  const settings = { database: { kind: 'sqlite', sqlite_path: path } }
  const kernel = await createKernel({ plugins: basic, settings, log: { stream: { write } } })
  let outcome: string | undefined
  const starting = kernel.start().then(
    () => {
      outcome = 'it started'
    },
    (error) => {
      outcome = (error as Error).message
    },
  )
  await until(() => holder !== undefined || outcome !== undefined, 10_000, 'the server to wait or to start')
  if (holder !== undefined)
    assert.equal(await kernel.readiness(), { status: 'starting', reason: 'waiting for the writer lease' })
  await kernel.stop()
  await starting
  return holder ?? outcome ?? ''
}
const create = async (base: string): Promise<string> => {
  const answer = await fetch(`${base}/Patient`, {
    method: 'POST',
    headers: { 'content-type': 'application/fhir+json' },
    body: '{"resourceType":"Patient"}',
  })
  assert.is(answer.status, 201)
  return ((await answer.json()) as { id: string }).id
}
const runCommand = (...argv: readonly string[]): Promise<Ran> => {
  const at = join(shared, '..')
  return createWorld({
    plugins: [...basic, audit, jobs, reindex],
    folder: at,
    argv: [...argv, '--sqlite', shared],
  }).run()
}

/** A file that a server in another process has. */
const shared = freshPath()
let first: SpawnedServer
test.before(async () => {
  first = await spawnServer(shared, { plugins: ['audit'] })
})
test.after(() => first.kill())

test('a second server on the file waits, knows pid, host and time of the first, and changes nothing', async () => {
  const { base, child } = first
  const id = await create(base)
  const message = await refusalOf(shared)
  assert.match(message, new RegExp(`process ${child.pid} on ${hostname()}, since \\d{4}-\\d\\d-\\d\\dT`))
  assert.ok(message.includes(shared))
  assert.match(message, /--sqlite/)
  assert.is((await fetch(`${base}/Patient/${id}`)).status, 200)
  await create(base)
})

test('also under the name of a symbolic link to the file or its folder', async () => {
  const link = `${shared}.link`
  symlinkSync(shared, link)
  assert.match(await refusalOf(link), /is in use by process/)
  const other = join(folder.path, `link${made}`)
  symlinkSync(join(shared, '..'), other)
  assert.match(await refusalOf(join(other, 'test.sqlite')), /is in use by process/)
})

test('also when the link was there before the file it leads to', async () => {
  for (const hops of [1, 2]) {
    const path = freshPath()
    const links = Array.from({ length: hops }, (_, hop) => join(folder.path, String(made), `link${hop}.sqlite`))
    for (const [at, link] of links.entries()) symlinkSync(at === 0 ? 'test.sqlite' : `link${at - 1}.sqlite`, link)
    const last = links.at(-1) as string
    const server = await start(last)
    assert.ok(existsSync(`${path}-lock`))
    for (const name of [path, ...links]) {
      assert.not.ok(existsSync(`${name}-lock`) && name !== path)
      assert.match(await refusalOf(name), /is in use by process/)
    }
    await server.stop()
  }
})

test('a server that was killed leaves no lock: the next one starts at once', async () => {
  const path = freshPath()
  for (let round = 0; round < 2; round += 1) {
    const server = await spawnServer(path)
    const id = await create(server.base)
    await server.kill()
    assert.ok(existsSync(`${path}-lock`))
    const next = await start(path)
    assert.is((await next.inject(`/Patient/${id}`)).statusCode, 200)
    await next.stop()
    assert.not.ok(existsSync(`${path}-lock`))
  }
})

test('of servers that start at the same moment on a new file one starts', async () => {
  const path = freshPath()
  const servers = await Promise.all([1, 2, 3].map(() => spawnServer(path, { isEarly: true })))
  const states = () => Promise.all(servers.map(async ({ base }) => (await fetch(`${base}/readyz`)).status))
  await until(async () => (await states()).includes(200), 20_000, 'one to start')
  assert.equal((await states()).sort(), [200, 503, 503])
  await create(servers[(await states()).indexOf(200)]!.base)
  await Promise.all(servers.map((one) => one.kill()))
})

test('two servers of one process are kept apart as well, and the first keeps its lock', async () => {
  const path = freshPath()
  const first = await start(path)
  assert.match(await refusalOf(path), new RegExp(`is in use by process ${process.pid} `))
  assert.match(await refusalOf(path), /is in use by process/)
  await first.stop()
  await (await start(path)).stop()
})

test('beside a running server: migrate --status and audit verify read, reindex is refused', async () => {
  await create(first.base)
  const status = await runCommand('migrate', '--status')
  assert.is(status.code, 0, status.stderr)
  const verify = await runCommand('audit', 'verify')
  assert.is(verify.code, 0, verify.stderr)
  const again = await runCommand('reindex')
  assert.is(again.code, 1, again.stderr)
  assert.match(again.stderr, /another process has .* open/)
  await create(first.base)
})

const readOf = async (server: TestServer, id: string): Promise<number> =>
  (await server.inject(`/Patient/${id}`)).statusCode

test('a lock file that is removed under a server is made again with its next write, and a second server waits', async () => {
  for (const replacement of [undefined, '']) {
    rmSync(`${shared}-lock`)
    if (replacement !== undefined) writeFileSync(`${shared}-lock`, replacement)
    await create(first.base)
    assert.match(await refusalOf(shared), new RegExp(`is in use by process ${first.child.pid} `))
  }
  await create(first.base)
})

test('it is made again without a write too, by readiness and by itself', async () => {
  const path = freshPath()
  const first = await start(path)
  rmSync(`${path}-lock`)
  assert.is((await first.inject('/readyz')).statusCode, 200)
  assert.ok(existsSync(`${path}-lock`))
  rmSync(`${path}-lock`)
  await until(async () => existsSync(`${path}-lock`), 10_000, 'the lock to be there again')
  assert.match(await refusalOf(path), /is in use by process/)
  await first.stop()
  assert.not.ok(existsSync(`${path}-lock`))
})

test('when another server has the lock before, the first one stores nothing any more and nothing that either acknowledged is lost', async () => {
  const path = freshPath()
  const first = await serverWith({
    plugins: basic,
    clock: createManualClock(),
    settings: { database: { kind: 'sqlite', sqlite_path: path } },
  })
  const makeOne = () =>
    first.inject({
      method: 'POST',
      url: '/Patient',
      headers: { 'content-type': 'application/fhir+json' },
      payload: '{"resourceType":"Patient"}',
    })
  const ids: string[] = []
  for (let count = 0; count < 20; count += 1) ids.push(((await makeOne()).json() as { id: string }).id)
  rmSync(`${path}-lock`)
  const second = await spawnServer(path)
  // Both are written to at the same time: of the first one every write is refused, of the second one none.
  const answers = await Promise.all(
    Array.from({ length: 20 }, async () => ({ refused: await makeOne(), id: await create(second.base) })),
  )
  for (const { refused, id } of answers) {
    assert.is(refused.statusCode, 503, refused.body)
    ids.push(id)
  }
  assert.match(answers[0]?.refused.body ?? '', /Another server has opened the database .* nothing was stored/)
  let exitCode: number | undefined
  void first.failed.then((failure) => {
    exitCode = failure.exitCode
  })
  await until(() => exitCode !== undefined, 10_000, 'the first server to end')
  assert.is(exitCode, 75)
  for (const id of ids) assert.is((await fetch(`${second.base}/Patient/${id}`)).status, 200)
  assert.is((await first.inject('/readyz')).statusCode, 503)
  const told = first.lines.filter(({ level, reason }) => level === 'error' && reason !== undefined)
  assert.is(told.length, 1)
  assert.match(String(told[0]?.msg), /test\.sqlite-lock was removed or replaced/)
  assert.match(String(told[0]?.reason), new RegExp(`process ${second.child.pid} `))
  // Rows that the first one kept in memory were put by the second one: they are not put twice.
  await first.stop()
  ids.push(await create(second.base))
  const found = (await (await fetch(`${second.base}/Patient?_summary=count`)).json()) as { total: number }
  assert.is(found.total, ids.length)
  assert.match(await refusalOf(path), new RegExp(`is in use by process ${second.child.pid} `))
  await second.kill()
  const third = await start(path)
  for (const id of ids) assert.is(await readOf(third, id), 200)
  assert.is((await third.inject('/Patient?_summary=count')).json().total, ids.length)
  await third.stop()
})

test('a server that came and went meanwhile is noticed as well', async () => {
  const path = freshPath()
  const settings = { database: { kind: 'sqlite', sqlite_path: path } }
  const first = await serverWith({ plugins: basic, clock: createManualClock(), settings })
  rmSync(`${path}-lock`)
  const second = await start(path)
  await second.stop()
  assert.not.ok(existsSync(`${path}-lock`))
  const payload = '{"resourceType":"Patient"}'
  const headers = { 'content-type': 'application/fhir+json' }
  const answer = await first.inject({ method: 'POST', url: '/Patient', headers, payload })
  assert.is(answer.statusCode, 503, answer.body)
  assert.is((await first.inject('/readyz')).statusCode, 503)
  await first.stop()
  await (await start(path)).stop()
})

test('a lock file that is no lock file refuses the start, which names it', async () => {
  const path = freshPath()
  writeFileSync(`${path}-lock`, 'text'.repeat(1_000))
  assert.match(await refusalOf(path), /test\.sqlite-lock cannot be opened: /)
  rmSync(`${path}-lock`)
  await (await start(path)).stop()
})

test.run()

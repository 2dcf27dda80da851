/** A SQLite file that a start would refuse: `server migrate --status` exits with 1, and the start names the path and what to do. */
import { spawn, spawnSync } from 'node:child_process'
import {
  chmodSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { createKernel } from '../../kernel/index.ts'
import { temporaryFolder } from '../support/database-kinds.ts'
import { isOpenToOthers } from '../support/is-open-to-others.ts'
import { basic } from '../support/server-with.ts'
import { createWorld, type Ran } from '../support/world.ts'

const LATE_MS = 30_000
const RESOLVE_SOURCES = new URL('../support/resolve-sources.ts', import.meta.url).href

/** Rejects where it goes on running, as a server does that was not refused. */
const server = async (folder: string, ...argv: string[]) => {
  const world = createWorld({ plugins: basic, folder, argv })
  let late: NodeJS.Timeout | undefined
  const running = new Promise<never>((_, reject) => {
    late = setTimeout(() => reject(new Error(`${argv.join(' ')} goes on running`)), LATE_MS)
  })
  return Promise.race([world.run(), running]).finally(() => clearTimeout(late))
}

const inFolder = async (work: (folder: string) => Promise<void>): Promise<void> => {
  const folder = temporaryFolder()
  try {
    await work(folder.path)
  } finally {
    folder.remove()
  }
}

/** Both commands refuse with 1 and the same reason; neither asks to try again or for the debug log. */
const refusedBoth = async (folder: string, path: string, reason: RegExp): Promise<void> => {
  const status = await server(folder, 'migrate', '--status', '--sqlite', path)
  assert.is(status.code, 1, status.stderr)
  assert.match(status.stderr, reason)
  const start = await server(folder, '--bind', '127.0.0.1:0', '--sqlite', path)
  assert.is(start.code, 1)
  assert.match(start.stderr, reason)
  assert.match(start.stderr, path)
  assert.not.match(start.stderr, /Try again|SERVER_LOG_LEVEL/)
}

test('a folder that is missing is named, with what to do', () =>
  inFolder(async (folder) => {
    const path = join(folder, 'missing', 'a.sqlite')
    await refusedBoth(folder, path, /There is no folder \S+missing for the database \S+a\.sqlite\. Create it, or give/)
    assert.equal(readdirSync(folder), [])
  }))

test("SQLite's name of a database in memory is refused like a wrong setting, with the flag that is meant", () =>
  inFolder(async (folder) => {
    for (const argv of [
      ['migrate', '--status'],
      ['--bind', '127.0.0.1:0'],
    ]) {
      const { code, stderr } = await server(folder, ...argv, '--sqlite', ':memory:')
      assert.is(code, 2)
      assert.match(stderr, /sqlite_path is :memory:, which names no file\. .*--memory/)
    }
    assert.equal(readdirSync(folder), [])
  }))

test('a file in the place of the folder is named', () =>
  inFolder(async (folder) => {
    writeFileSync(join(folder, 'plain'), '')
    await refusedBoth(folder, join(folder, 'plain', 'a.sqlite'), /There is no folder \S+plain for the database/)
  }))

test('a file that is read-only is told with its status, and left as it is', () =>
  inFolder(async (folder) => {
    const path = join(folder, 'a.sqlite')
    const settings = { database: { kind: 'sqlite', sqlite_path: path } }
    const kernel = await createKernel({ plugins: basic, settings, log: { level: 'silent' } })
    await kernel.start()
    await kernel.stop()
    chmodSync(path, 0o444)
    await refusedBoth(folder, path, /a\.sqlite cannot be written: .*Give the server write access/)
    const { stdout } = await server(folder, 'migrate', '--status', '--sqlite', path)
    assert.match(stdout, /would apply: 0/)
    assert.is(statSync(path).mode & 0o777, 0o444)
  }))

const WORLD = new URL('../support/world.ts', import.meta.url).href
const PLUGINS = new URL('../support/server-with.ts', import.meta.url).href
/** A user who is no superuser: permissions do not bind that one. */
const user = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {}
/** A superuser's checkout may lie in a folder that is closed to others. */
const canRunAsUser = process.getuid?.() !== 0 || isOpenToOthers(dirname(fileURLToPath(WORLD)))

/** Runs each command in one process of that user, as loading the sources takes most of its time. */
const asUser = async (...commands: readonly string[][]): Promise<readonly Ran[]> => {
  const script = `
    const { createWorld } = await import(${JSON.stringify(WORLD)})
    const { basic: plugins } = await import(${JSON.stringify(PLUGINS)})
    const ran = []
    for (const argv of ${JSON.stringify(commands)}) ran.push(await createWorld({ plugins, folder: '/', argv }).run())
    process.stdout.write(JSON.stringify(ran))
    process.exit()`
  const args = ['--import', RESOLVE_SOURCES, '--input-type=module', '--eval', script]
  const child = spawn(process.execPath, args, { cwd: '/', stdio: ['ignore', 'pipe', 'inherit'], ...user })
  return JSON.parse(await text(child.stdout)) as readonly Ran[]
}

test('a folder that takes no files is named', () =>
  inFolder(async (folder) => {
    if (!canRunAsUser) return
    chmodSync(folder, 0o755)
    const closed = join(folder, 'closed')
    mkdirSync(closed)
    chmodSync(closed, 0o555)
    const path = join(closed, 'a.sqlite')
    const ran = await asUser(['migrate', '--status', '--sqlite', path], ['--bind', '127.0.0.1:0', '--sqlite', path])
    assert.is(ran.length, 2)
    for (const { code, stderr } of ran) {
      assert.is(code, 1, stderr)
      assert.match(stderr, /a\.sqlite cannot be written: no file can be made in the folder \S+closed \(EACCES\)\. Give/)
      assert.not.match(stderr, /Try again|SERVER_LOG_LEVEL/)
    }
  }))

/** Makes a database and stops. */
const makeDatabase = async (path: string): Promise<void> => {
  const settings = { database: { kind: 'sqlite', sqlite_path: path } }
  const kernel = await createKernel({ plugins: basic, settings, log: { level: 'silent' } })
  await kernel.start()
  await kernel.stop()
}

test('a file with a second hard link is refused by either name and through a symbolic link, and starts when it has one name again', () =>
  inFolder(async (folder) => {
    const path = join(folder, 'a.sqlite')
    mkdirSync(join(folder, 'other'))
    const other = join(folder, 'other', 'b.sqlite')
    await makeDatabase(path)
    linkSync(path, other)
    symlinkSync(other, join(folder, 'c.sqlite'))
    const before = readFileSync(path)
    for (const name of [path, other, join(folder, 'c.sqlite')])
      await refusedBoth(
        folder,
        name,
        /\.sqlite may be open under another name: it has 2 hard links\. .*Remove the other names/,
      )
    assert.ok(readFileSync(path).equals(before))
    assert.equal(readdirSync(folder).sort(), ['a.sqlite', 'c.sqlite', 'other'])
    rmSync(other)
    assert.is((await server(folder, 'migrate', '--status', '--sqlite', path)).code, 0)
    await makeDatabase(path)
  }))

test('a file that is a mount point is refused, a folder that is one is not', () =>
  inFolder(async (folder) => {
    const mounted = join(folder, 'with space')
    const source = join(folder, 'source')
    for (const made of [mounted, source]) mkdirSync(made)
    const path = join(mounted, 'b.sqlite')
    await makeDatabase(join(source, 'b.sqlite'))
    writeFileSync(path, '')
    const mount = (from: string, to: string): boolean => spawnSync('mount', ['--bind', from, to]).status === 0
    if (!mount(join(source, 'b.sqlite'), path)) return // only a superuser may mount
    try {
      await refusedBoth(
        folder,
        path,
        /b\.sqlite may be open under another name: it is a mount point\. .*Mount the folder/,
      )
    } finally {
      // Lazily: a server that was not refused has it open.
      spawnSync('umount', ['-l', path])
    }
    assert.ok(mount(source, mounted))
    try {
      await makeDatabase(path)
      assert.is((await server(folder, 'migrate', '--status', '--sqlite', path)).code, 0)
    } finally {
      spawnSync('umount', [mounted])
    }
  }))

test.run()

/** Which database the settings choose: what names one selects its kind, and what contradicts is refused or told. */
import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { basic } from '../support/server-with.ts'
import { createWorld } from '../support/world.ts'

// Nobody listens there, so that a start that tries PostgreSQL says so at once.
const URL_OF_NOBODY = 'postgresql://fhir:hunter2@127.0.0.1:1/fhir'
const ENVIRONMENT = { SERVER_POSTGRES_URL: URL_OF_NOBODY }

interface Case {
  readonly environment?: Readonly<Record<string, string>>
  readonly toml?: string
}

const server = async (argv: readonly string[], { environment = {}, toml }: Case = {}) => {
  const world = createWorld({
    plugins: basic,
    argv,
    environment,
    onWrite: ({ send }, text) => {
      if (text.includes('"ready"')) send('SIGTERM')
    },
  })
  try {
    if (toml !== undefined) writeFileSync(join(world.folder, 'server.toml'), toml)
    return await world.run()
  } finally {
    world.remove()
  }
}

const kindIn = async (flags: readonly string[], options: Case = {}): Promise<string> => {
  const { stdout, stderr } = await server(['config', ...flags], options)
  return /^kind = "(\w+)" +# (.*)$/m.exec(stdout)?.slice(1).join(' by ') ?? stderr
}

test('SERVER_POSTGRES_URL alone selects PostgreSQL, and no SQLite file is made', async () => {
  const before = existsSync('refhir.sqlite')
  const { code, stderr } = await server(['--bind', '127.0.0.1:0'], { environment: ENVIRONMENT })
  assert.is(code, 1)
  assert.match(stderr, /PostgreSQL at 127\.0\.0\.1:1/)
  assert.not.match(stderr, 'hunter2')
  assert.is(existsSync('refhir.sqlite'), before)
})

test('what names a database selects its kind; a later source overrides an earlier one', async () => {
  const environment = ENVIRONMENT
  assert.is(await kindIn([]), 'sqlite by default')
  assert.is(await kindIn([], { environment }), 'postgres by SERVER_POSTGRES_URL')
  assert.is(await kindIn([], { toml: '[database]\npostgres_url = "host=x"' }), 'postgres by server.toml:2')
  assert.is(await kindIn([], { toml: '[database]\nsqlite_path = "x"' }), 'sqlite by server.toml:2')
  assert.is(await kindIn([], { toml: '[database]\nsqlite_path = "x"', environment }), 'postgres by SERVER_POSTGRES_URL')
  assert.is(await kindIn(['--sqlite', 'x.sqlite'], { environment }), 'sqlite by --sqlite')
  assert.is(await kindIn(['--memory'], { environment }), 'memory by --memory')
  assert.is(await kindIn(['--postgres', 'host=x'], { toml: '[database]\nkind = "sqlite"' }), 'postgres by --postgres')
})

test('a kind that is set explicitly counts for the same source', async () => {
  const toml = '[database]\nkind = "sqlite"\npostgres_url = "host=x"\nsqlite_path = "x"'
  assert.is(await kindIn([], { toml }), 'sqlite by server.toml:2')
})

test('SERVER_POSTGRES_URL against a kind of the file is refused with the reason', async () => {
  for (const kind of ['sqlite', 'memory']) {
    const toml = `[database]\nkind = "${kind}"`
    const { code, stderr } = await server(['config'], { environment: ENVIRONMENT, toml })
    assert.is(code, 2)
    assert.is(
      stderr,
      `server: SERVER_POSTGRES_URL: it stands for [database] kind = "postgres", and server.toml:2 sets it to "${kind}"; remove one of the two\n`,
    )
  }
})

test('an empty SERVER_POSTGRES_URL is refused: it never means SQLite', async () => {
  const before = existsSync('refhir.sqlite')
  for (const argv of [['--bind', '127.0.0.1:0'], ['config'], ['migrate', '--status']]) {
    const { code, stderr } = await server(argv, { environment: { SERVER_POSTGRES_URL: '' } })
    assert.is(code, 2, argv.join(' '))
    assert.is(
      stderr,
      'server: SERVER_POSTGRES_URL: [database] postgres_url is not valid; it takes a string that is not empty\n',
    )
  }
  assert.is(existsSync('refhir.sqlite'), before)
  assert.is(
    await kindIn(['--postgres', 'host=x'], { environment: { SERVER_POSTGRES_URL: '' } }),
    'postgres by --postgres',
  )
})

test('a connection string that can never work is a refused setting: exit code 2', async () => {
  for (const [url, reason] of [
    ['http://x', /postgres_url cannot be read/],
    ['postgresql://u:hunter2@x/y?foo=1', /there is no connection parameter "foo"/],
    ['postgresql://u:hunter2@x/y?sslmode=allow', /allow is not supported/],
    ['postgresql://u:hunter2@x/y?sslmode=verify-full', /sslmode=verify-full needs sslrootcert/],
  ] as const)
    for (const argv of [
      ['--bind', '127.0.0.1:0'],
      ['migrate', '--status'],
    ]) {
      const { code, stderr } = await server([...argv, '--postgres', url])
      assert.is(code, 2, `${argv[0]} ${url}: ${stderr}`)
      assert.match(stderr, reason)
      assert.not.match(stderr, /hunter2|SERVER_LOG_LEVEL/)
    }
  for (const argv of [
    ['--bind', '127.0.0.1:0'],
    ['migrate', '--status'],
  ]) {
    const { code, stderr } = await server(argv, { toml: '[database]\nkind = "postgres"' })
    assert.is(code, 2)
    assert.match(stderr, /kind is postgres and there is no postgres_url/)
  }
})

test('two databases in the file without a kind are refused', async () => {
  const { code, stderr } = await server(['config'], {
    toml: '[database]\npostgres_url = "host=x"\nsqlite_path = "x.sqlite"',
  })
  assert.is(code, 2)
  assert.match(stderr, /\[database\] kind which one counts/)
})

test('a postgres_url that a flag overrides is told at the start', async () => {
  const { code, stdout } = await server(['--memory', '--bind', '127.0.0.1:0'], { environment: ENVIRONMENT })
  assert.is(code, 0)
  assert.match(stdout, /"level":"warn"[^\n]*postgres_url is not used: the database is of kind memory/)
  assert.not.match(stdout, 'hunter2')
})

test.run()

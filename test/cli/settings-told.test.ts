/** What an operator reads of settings that are wrong, unknown or without effect. */
import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import audit from '../../plugins/audit/index.ts'
import database from '../../plugins/database/index.ts'
import packages from '../../plugins/packages/index.ts'
import { shop } from '../support/shop.ts'
import { createWorld } from '../support/world.ts'

interface Case {
  readonly toml?: string
  readonly environment?: Readonly<Record<string, string>>
}

/** Serves until ready, or runs the command. */
const server = async (line: string, { toml, environment = {} }: Case = {}) => {
  const world = createWorld({
    plugins: [shop(), { ...audit, needs: {}, provides: [], migrations: [], setup: () => undefined }],
    argv: line.split(' ').filter((word) => word !== ''),
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

const warningsOf = (stdout: string): readonly string[] =>
  stdout
    .split('\n')
    .filter((line) => line.includes('"level":"warn"'))
    .map((line) => JSON.parse(line).msg as string)

test('a port out of range is refused by the settings, one in range is taken', async () => {
  for (const port of ['65536', '99999', '70000', '655350', '-1']) {
    const { code, stderr } = await server(`--bind 127.0.0.1:${port}`)
    assert.is(code, 2, port)
    assert.is(
      stderr,
      `server: --bind: [server] bind is "127.0.0.1:${port}"; it takes host:port, with a port from 0 to 65535\n`,
    )
  }
  for (const port of ['0', '80', '8080', '59999', '65535'])
    assert.is((await server(`config --bind [::1]:${port}`)).code, 0, port)
})

test('proxy settings of which one has no effect are warned of at the start', async () => {
  const only = async (line: string) =>
    warningsOf((await server('--bind 127.0.0.1:0', { toml: `[server]\n${line}` })).stdout)
  assert.match(
    (await only('trusted_proxy_hops = 2')).join(),
    /trusted_proxy_hops is 2 and trusted_proxy_peers is empty/,
  )
  assert.match((await only('trusted_proxy_peers = ["10.0.0.0/8"]')).join(), /trusted_proxy_hops is 0/)
  assert.equal(await only('trusted_proxy_hops = 1\ntrusted_proxy_peers = ["10.0.0.0/8"]'), [])
})

const VARIABLES = {
  SERVER_LOG_LEVL: 'debug',
  SERVER_RETENTION_DAYS: '7',
  SERVER_COLOUR: 'red',
  SERVER_CONFIG: '',
  // A service called "server", as Kubernetes tells every container of it.
  SERVER_SERVICE_HOST: '10.0.0.1',
  SERVER_SMART_SERVICE_HOST: '10.0.0.1',
  SERVER_SMART_PORT: 'tcp://10.0.0.1:80',
  SERVER_OIDC_PORT_80_TCP_ADDR: '10.0.0.1',
  SERVER_PORT: 'tcp://10.0.0.1:80',
  SERVER_PORT_80_TCP_ADDR: '10.0.0.1',
}
const ABOUT = [
  'SERVER_LOG_LEVL is no variable of this server and does nothing; SERVER_LOG_LEVEL is one',
  'SERVER_RETENTION_DAYS is no variable of this server and does nothing; set retention_days under [audit]',
  'SERVER_COLOUR is no variable of this server and does nothing; server config lists the settings',
]

test('every unknown SERVER_ variable is warned of at the start, with what was meant', async () => {
  const { stdout } = await server('--bind 127.0.0.1:0', { environment: VARIABLES })
  assert.equal(warningsOf(stdout), ABOUT)
})

test('config tells of unknown variables too, beside what it prints', async () => {
  const { code, stderr } = await server('config', { environment: VARIABLES })
  assert.is(code, 0)
  assert.is(stderr, ABOUT.map((about) => `server: ${about}\n`).join(''))
})

test('an empty variable is refused where the setting takes text, and is unset where it takes anything else', async () => {
  for (const variable of ['SERVER_AUDIT_KEY', 'SERVER_PUBLIC_URL']) {
    const { code, stderr } = await server('config', { environment: { [variable]: '' } })
    assert.is(code, 2, variable)
    assert.match(stderr, new RegExp(`^server: ${variable}: \\[\\w+\\] \\w+ is .*; it takes `), variable)
  }
  assert.is((await server('config', { environment: { SERVER_LOG_LEVEL: '' } })).code, 0)
})

test('a section that shares its name with a key is a section', async () => {
  const { stderr } = await server('config', { toml: '[tills]\nx = 1' })
  assert.match(stderr, /\[tills\] is not a section of any plugin/)
})

test('a command without its argument says which and prints its own help; --help prints the same', async () => {
  const { code, stdout, stderr } = await server('audit')
  assert.is(code, 2)
  assert.is(stdout, '')
  assert.match(stderr, /^server: server audit needs an argument: verify\n\nChecks the hash chain/)
  assert.match(stderr, 'ACTION')
  assert.not.match(stderr, '--package')
  const help = await server('audit --help')
  assert.is(help.code, 0)
  assert.ok(stderr.endsWith(help.stdout), help.stderr)
})

test('config shows a list of secrets by their number, and an empty one as empty', async () => {
  assert.match((await server('config')).stdout, /^previous_keys = \[\] +# default$/m)
  const environment = { SERVER_AUDIT_PREVIOUS_KEYS: 'first-key-of-16-bytes,second-key-of-16-bytes' }
  const { stdout } = await server('config', { environment })
  assert.match(stdout, /^previous_keys = \[ "\[secret\]", "\[secret\]" \] +# /m)
  assert.not.match(stdout, /key-of-16/)
})

test('a name that the settings file cannot hold is refused by the names there are of that kind', async () => {
  for (const toml of ['[stock]\n__proto__ = 1', '[stock.constructor]\nx = 1'])
    assert.match((await server('config', { toml })).stderr, /unsafe property, "__proto__" or "constructor"/)
})

test('what is no package is refused with 2 before the database is opened', async () => {
  for (const [line, words] of [
    ['--package @', /"@" is not a package: give name@version/],
    ['--package A@1@2', /"A@1@2" is not a package/],
  ] as const) {
    const world = createWorld({
      plugins: [database, packages],
      argv: ['--sqlite', 'data.sqlite', ...line.split(' ').filter((word) => word !== '')],
    })
    try {
      const { code, stdout, stderr } = await world.run()
      assert.is(code, 2, stderr)
      assert.match(stderr, words)
      assert.not.match(stdout, /listening/)
      assert.not.ok(existsSync(join(world.folder, 'data.sqlite')))
    } finally {
      world.remove()
    }
  }
})

test.run()

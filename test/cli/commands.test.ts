/** The command line without a process: which command runs, with which settings, and what it prints. Spec: Command line. */
import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { definePlugin } from '../../kernel/index.ts'
import { Stock, shop } from '../support/shop.ts'
import { createWorld, type Ran, type TestWorldOptions } from '../support/world.ts'

const root = fileURLToPath(new URL('../../', import.meta.url))

interface Case extends TestWorldOptions {
  readonly toml?: string
}

const server = async (line: string, { toml, ...options }: Case = {}): Promise<Ran> => {
  const argv = line.split(' ').filter((word) => word !== '')
  const world = createWorld({ plugins: [shop()], ...options, argv })
  try {
    if (toml !== undefined) writeFileSync(join(world.folder, 'server.toml'), toml)
    return await world.run()
  } finally {
    world.remove()
  }
}
const lineWith = (text: string, part: string): string => text.split('\n').find((line) => line.includes(part)) ?? ''

test('--help tells about all flags, and the commands of plugins beside ours', async () => {
  const { code, stdout, stderr } = await server('--help')
  assert.is(code, 0)
  assert.is(stderr, '')
  for (const word of ['config', 'plugins', 'serve', 'stock']) assert.match(stdout, new RegExp(`^  ${word} `, 'm'))
  for (const flag of [
    '--config=path',
    '--bind=host:port',
    '--in-memory',
    '--file=path',
    '--tills=n',
    '--good=',
    '--[no-]open',
  ])
    assert.ok(stdout.includes(flag), flag)
  assert.match(stdout.replace(/\s+/g, ' '), 'Open tills. (default 2; SHOP_TILLS)')
})

test('--help names the pages of the documentation, which are there', async () => {
  const { stdout } = await server('--help')
  const named = [...stdout.slice(stdout.indexOf('DOCUMENTATION')).matchAll(/\S+\.md/g)].map(([path]) => path)
  assert.equal(
    named.map((path) => path.slice(root.length)),
    ['README.md', 'cli/README.md'],
  )
  for (const path of named) assert.ok(existsSync(path), path)
})

test('help is plain text where nobody reads it', async () => {
  const { stdout } = await server('--help')
  assert.not.ok(stdout.includes('\u001B'))
})

for (const line of ['help', '-h', '--help --tills 3', '--sqlite x --help'])
  test(`"${line}" is help about the whole`, async () => {
    const { code, stdout } = await server(line)
    assert.is(code, 0)
    assert.match(stdout, 'COMMANDS')
  })

for (const line of ['stock --help', 'help stock', 'stock -h', 'stock --all --help'])
  test(`"${line}" is help about the command, with its own flags and without those of settings`, async () => {
    const { code, stdout } = await server(line)
    assert.is(code, 0)
    assert.match(stdout, 'Prints the stock.')
    assert.match(stdout, '--all')
    assert.match(stdout, '--config')
    assert.not.match(stdout, '--tills')
  })

test('help works beside a settings file that is refused, and says so', async () => {
  const { code, stdout, stderr } = await server('--help', { toml: 'nonsense' })
  assert.is(code, 0)
  assert.match(stdout, 'COMMANDS')
  assert.match(stderr, /^server: server\.toml:1:\d+: /)
})

test('a command of a plugin runs with its own flags and those of settings', async () => {
  assert.equal(await server('stock'), { code: 0, stdout: 'memory some shop\n', stderr: '' })
  const { code, stdout } = await server('stock --all --postgres x')
  assert.is(stdout, 'postgres all shop\n')
  assert.is(code, 7, 'the exit code of the command')
})

test('the error of a command is one line, with the exit code it asked for', async () => {
  const { code, stderr } = await server('stock --file x')
  assert.is(stderr, 'server: the stock cannot be read\n')
  assert.is(code, 2)
})

test('a command that asks for settings before parsing is a fault, not a command on default settings', async () => {
  const { code, stderr } = await server('hasty --postgres x')
  assert.is(code, 1)
  assert.match(stderr, 'before this.parse(...)')
})

test('config prints every setting with its origin, in order of precedence', async () => {
  const { code, stdout } = await server('config --tills 4 --good a --good b,c', {
    toml: '[shop]\ntills = 3\nkind = "file"\n[shop.clients."my app"]\ncredit = 5\n',
    environment: { SHOP_URL: 'postgresql://u:hunter2@h/db', SHOP_GOODS: 'never' },
  })
  assert.is(code, 0)
  assert.match(stdout, /^# server\.toml\n/)
  assert.match(lineWith(stdout, 'kind'), /^kind = "file" +# server\.toml:3$/)
  assert.match(lineWith(stdout, 'tills'), /^tills = 4 +# --tills$/)
  assert.match(lineWith(stdout, 'goods'), /^goods = \[ "a", "b,c" \] +# --good$/)
  assert.match(lineWith(stdout, 'url ='), /^url = "\[secret\]" +# SHOP_URL$/)
  assert.match(lineWith(stdout, 'open'), /^open = false +# default$/)
  assert.is(lineWith(stdout, 'path'), '# path is not set')
  assert.match(lineWith(stdout, 'my app'), /^clients\."my app"\.credit = 5 +# server\.toml:5$/)
  assert.not.match(stdout, 'hunter2')
})

test('what config prints is a settings file', async () => {
  const first = await server('config --tills 4 --no-open')
  const second = await server('config', { toml: first.stdout })
  assert.is(second.code, 0)
  assert.match(lineWith(second.stdout, 'tills'), /^tills = 4 /)
})

test('config --json prints the same as JSON', async () => {
  const { stdout } = await server('config --json --tills 4', { environment: { SHOP_KEY: 'hunter2hunter2' } })
  const report = JSON.parse(stdout) as { path: string }[]
  assert.equal(
    report.filter(({ path }) => path === 'shop.tills' || path === 'shop.key' || path === 'shop.path'),
    [
      { path: 'shop.path', value: null, origin: { source: 'default' }, secret: false },
      { path: 'shop.tills', value: 4, origin: { source: 'flag', name: 'tills' }, secret: false },
      { path: 'shop.key', value: '[secret]', origin: { source: 'environment', name: 'SHOP_KEY' }, secret: true },
    ],
  )
})

test('a flag of a boolean turns it off again with --no-', async () => {
  const toml = '[shop]\nopen = true'
  assert.match(lineWith((await server('config --no-open', { toml })).stdout, 'open'), /^open = false +# --no-open$/)
})

test('--config chooses the file over SERVER_CONFIG, which chooses it over the standard place', async () => {
  const world = createWorld({ plugins: [shop()] })
  try {
    for (const [name, tills] of [
      ['server', 3],
      ['env', 4],
      ['flag', 5],
    ])
      writeFileSync(join(world.folder, `${name}.toml`), `[shop]\ntills = ${tills}`)
    const tillsOf = async (line: string, environment = {}): Promise<string> =>
      lineWith((await server(line, { folder: world.folder, environment })).stdout, 'tills')
    assert.match(await tillsOf('config'), /= 3 +# server\.toml:2/)
    assert.match(await tillsOf('config', { SERVER_CONFIG: 'env.toml' }), /= 4 +# env\.toml:2/)
    assert.match(await tillsOf('config --config flag.toml', { SERVER_CONFIG: 'env.toml' }), /= 5 +# flag\.toml:2/)
    assert.match(await tillsOf('config --config=flag.toml'), /= 5 +# flag\.toml:2/)
  } finally {
    world.remove()
  }
})

const refused: readonly [string, string, RegExp][] = [
  ['an unknown flag', 'config --tils 3', /^server: there is no flag --tils; did you mean --tills\?\n$/],
  ['an unknown flag like no other', '--frobnicate', /^server: there is no flag --frobnicate; --help lists all\n$/],
  [
    'an unknown flag with a value, which is not shown',
    'config --kez=hunter2',
    /^server: there is no flag --kez; [^2]+\n$/,
  ],
  ['an unknown short flag', 'config -x', /^server: there is no flag -x; /],
  ['a flag of another command', 'config --all', /^server: there is no flag --all; /],
  ['an unknown command', 'stok', /^server: there is no command stok; did you mean stock\?\n$/],
  ['an unknown command in help', 'help stok', /^server: there is no command stok; did you mean stock\?\n$/],
  ['an argument where none is taken', 'config foo', /^server: Unexpected argument: foo\n$/],
  ['a flag without its value', 'config --tills', /^server: Flag --tills expects a value\n$/],
  [
    'a flag given twice that takes one value',
    'config --tills 1 --tills 2',
    /^server: Flag --tills can only be specified once\n$/,
  ],
  [
    'two flags that contradict one another',
    'config --in-memory --file x',
    /^server: --in-memory and --file contradict one another on shop\.kind; give one of them\n$/,
  ],
  [
    'two flags that imply different things',
    'config --file x --postgres y',
    /^server: --file and --postgres contradict one another on shop\.kind; give one of them\n$/,
  ],
  [
    'a wrong value of a flag',
    'config --tills none',
    /^server: --tills: \[shop\] tills is "none"; it takes an integer of at least 1\n$/,
  ],
  [
    'a settings file that is not there',
    'config --config no.toml',
    /^server: no\.toml: there is no such file; --config names it\n$/,
  ],
]
for (const [what, line, stderr] of refused)
  test(`${what} is refused in one line, with exit code 2`, async () => {
    const ran = await server(line)
    assert.match(ran.stderr, stderr)
    assert.is(ran.stdout, '')
    assert.is(ran.code, 2)
  })

test('refused settings print one line each, with exit code 2, for every command and for serve', async () => {
  for (const line of ['', 'config', 'plugins', 'stock']) {
    const { code, stdout, stderr } = await server(line, {
      toml: '[shop]\ntills = 0\nkeys = "hunter2hunter2"\n[shopp]\n',
      environment: { SHOP_KEY: 'hunter2' },
    })
    assert.is(code, 2, line)
    assert.is(stdout, '')
    assert.is(stderr.trim().split('\n').length, 4)
    assert.match(stderr, 'server.toml:2: [shop] tills is 0')
    assert.match(stderr, 'SHOP_KEY: [shop] key is not valid')
    assert.not.match(stderr, 'hunter2')
  }
})

test('two flags that say the same are no contradiction', async () => {
  assert.is((await server('config --file x')).code, 0)
  assert.is((await server('stock --in-memory')).code, 0)
})

test('plugins prints each plugin with what it adds', async () => {
  const { code, stdout } = await server('plugins')
  assert.is(code, 0)
  assert.match(stdout, /^shop {2}Sells things$/m)
  assert.match(stdout, /^ {2}hooks +beforeRequest: look at the door$/m)
  assert.match(stdout, /^ {2}settings +shop\.kind$/m)
  assert.match(stdout, /^ {2}routes +GET \/metadata$/m)
  assert.match(stdout, /^ {2}commands +stock$/m)
})

test('plugins --json prints the same as JSON, plugins that are off too', async () => {
  const off = definePlugin({ name: 'closed', enabled: () => false, setup: () => undefined })
  const { stdout } = await server('plugins --json', { plugins: [shop(), off] })
  const plugins = JSON.parse(stdout) as { name: string; enabled: boolean; commands: string[] }[]
  assert.equal(
    plugins.map(({ name, enabled }) => [name, enabled]),
    [
      ['shop', true],
      ['closed', false],
    ],
  )
  assert.equal(plugins[0]!.commands, ['stock', 'hasty'])
})

test('a command that two plugins bring, or that is ours, is refused by name', async () => {
  const again = (name: string, command: string) =>
    definePlugin({ name, commands: { [command]: async () => Stock }, setup: () => undefined })
  const twice = await server('stock', { plugins: [shop(), again('mall', 'stock')] })
  assert.is(twice.stderr, 'server: The plugins "shop" and "mall" both bring the command "stock".\n')
  assert.is(twice.code, 2)
  for (const taken of ['config', 'serve', 'help'])
    assert.match((await server('', { plugins: [again('mall', taken)] })).stderr, `bring the command "${taken}"`)
})

test('a command leaves the exit code of the process alone', async () => {
  process.exitCode = undefined
  await server('stock --file x')
  assert.is(process.exitCode, undefined)
})

test.run()

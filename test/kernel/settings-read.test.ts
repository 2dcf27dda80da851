/** Reading server.toml: the places, and what is refused before any plugin is asked. Spec: Configuration settings, Location. */
import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, rm, symlink, truncate, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { SettingsInvalid } from '../../kernel/settings/errors.ts'
import { readSettings, type SettingsInput } from '../../kernel/settings/read.ts'

const test = suite<{ folder: string }>('reading server.toml')
test.before.each(async (context) => {
  context.folder = await mkdtemp(join(tmpdir(), 'settings-read-'))
})
test.after.each(({ folder }) => rm(folder, { recursive: true }))

const put = async (folder: string, name: string, text: string | Buffer): Promise<string> => {
  await mkdir(dirname(join(folder, name)), { recursive: true })
  await writeFile(join(folder, name), text)
  return join(folder, name)
}
const complaintOf = async (folder: string, asked?: SettingsInput, standard?: readonly string[]): Promise<string> => {
  try {
    await readSettings(folder, asked, standard)
  } catch (error) {
    assert.instance(error, SettingsInvalid)
    assert.is((error as SettingsInvalid).complaints.length, 1)
    return (error as SettingsInvalid).message
  }
  return assert.unreachable('it was read') as never
}

test('without a file anywhere there are no settings', async ({ folder }) => {
  assert.is(await readSettings(folder, undefined, ['server.toml', join(folder, 'etc/server.toml')]), undefined)
})

test('./server.toml comes before the one under /etc', async ({ folder }) => {
  const etc = await put(folder, 'etc/server.toml', 'from = "etc"')
  const places = ['server.toml', etc]
  assert.is((await readSettings(folder, undefined, places))?.values.from, 'etc')
  await put(folder, 'server.toml', 'from = "here"')
  const found = await readSettings(folder, undefined, places)
  assert.is(found?.values.from, 'here')
  assert.is(found?.file, 'server.toml')
})

test('a file that was asked for is read instead of the standard places', async ({ folder }) => {
  await put(folder, 'server.toml', 'from = "here"')
  await put(folder, 'other.toml', 'from = "other"')
  assert.is((await readSettings(folder, { file: 'other.toml', by: '--config' }))?.values.from, 'other')
})

test('a file that was asked for and is missing is refused, with who named it', async ({ folder }) => {
  await put(folder, 'server.toml', '')
  assert.is(
    await complaintOf(folder, { file: 'no.toml', by: 'SERVER_CONFIG' }),
    'no.toml: there is no such file; SERVER_CONFIG names it',
  )
})

test('what exists in a standard place and is no file is refused, not skipped', async ({ folder }) => {
  await mkdir(join(folder, 'server.toml'))
  assert.match(await complaintOf(folder), 'server.toml: the standard place names something that is not a regular file')
})

test('a circle of links is refused by name', async ({ folder }) => {
  await symlink('server.toml', join(folder, 'server.toml'))
  assert.is(await complaintOf(folder), 'server.toml: its links go round in a circle')
})

test('an empty file is a file without settings', async ({ folder }) => {
  await put(folder, 'server.toml', '  \n')
  assert.equal((await readSettings(folder))?.values, {})
})

test('a byte order mark is allowed', async ({ folder }) => {
  await put(folder, 'server.toml', '\uFEFF[database]\nkind = "memory"\n')
  assert.is((await readSettings(folder))?.lines.get('database.kind'), 2)
})

test('a syntax error names file, line and column and quotes nothing of the file', async ({ folder }) => {
  await put(folder, 'server.toml', '[smart]\npassphrase = "hunter2hunter2\n')
  const complaint = await complaintOf(folder)
  assert.match(complaint, /^server\.toml:2:\d+: /)
  assert.not.match(complaint, 'hunter2')
  assert.not.match(complaint, '\n')
})

const refused: readonly [string, string | Buffer, RegExp][] = [
  ['a table that is written twice', '[a]\nx = 1\n[b]\n[a]\ny = 2\n', /^server\.toml:4:2: .*already defined/],
  ['a key that is written twice', '[a]\nx = 1\nx = 2\n', /^server\.toml:3:1: .*already defined/],
  ['a table called __proto__', '[__proto__]\nx = 1\n', /^server\.toml:1:2: .*unsafe.*__proto__/],
  ['a key called __proto__', '[a]\n"__proto__" = { x = 1 }\n', /^server\.toml:2:1: .*unsafe/],
  ['a key called __proto__ in an inline table', 'a = { b = 1, __proto__ = 2 }', /^server\.toml:1:14: .*unsafe/],
  ['a dotted __proto__', 'a.__proto__.b = 1', /^server\.toml:1:1: .*unsafe/],
  ['UTF-16', Buffer.from('\ufeff[server]\r\n', 'utf16le'), /UTF-8/],
  ['UTF-16 without a mark', Buffer.from('[server]\n', 'utf16le'), /UTF-8/],
  ['UTF-16 the other way', Buffer.from('\ufeff[server]\r\n', 'utf16le').swap16(), /UTF-8/],
  ['a NUL byte', '[a]\n\nx = "b\0"\n', /^server\.toml:3: there is a NUL byte/],
  ['bytes that are not UTF-8', Buffer.from([0x61, 0x3d, 0x22, 0xff, 0x22]), /^server\.toml:1: .* not UTF-8/],
  ['an integer too large to keep', 'a = 9007199254740993', /^server\.toml:1:5: /],
  ['arrays in a thousand arrays', `a = ${'['.repeat(1000)}${']'.repeat(1000)}`, /^server\.toml:1:\d+: /],
]
for (const [what, text, complaint] of refused)
  test(`${what} is refused with its line`, async ({ folder }) => {
    await put(folder, 'server.toml', text)
    assert.match(await complaintOf(folder), complaint)
  })

test('a file over a megabyte is refused without being read', async ({ folder }) => {
  const file = await put(folder, 'server.toml', '')
  await truncate(file, 10_000_000)
  assert.is(await complaintOf(folder), 'server.toml: the file has 10000000 bytes; settings take at most 1000000')
})

for (const name of [
  'settings.js',
  'settings.ts',
  'settings.json',
  'settings.yaml',
  'settings',
  'package.toml',
  'package.json',
])
  test(`a file called ${name} is read as TOML, whole, and never run`, async ({ folder }) => {
    await put(folder, name, '[database]\nkind = "memory"\n')
    const found = await readSettings(folder, { file: name, by: '--config' })
    assert.is((found!.values.database as { kind: string }).kind, 'memory')
  })

test('$import is a key like any other: no second file is read', async ({ folder }) => {
  await put(folder, 'other.toml', 'x = 1')
  await put(folder, 'server.toml', '"$import" = "other.toml"')
  assert.equal(Object.keys((await readSettings(folder))!.values), ['$import'])
})

test('a .config/config.js in the working directory is not run', async ({ folder }) => {
  const trace = join(folder, 'it-ran')
  await put(folder, '.config/config.js', `require('node:fs').writeFileSync(${JSON.stringify(trace)}, '')`)
  await put(folder, 'server.toml', 'x = 1')
  const before = process.cwd()
  process.chdir(folder)
  try {
    await readSettings(folder)
  } finally {
    process.chdir(before)
  }
  assert.not(existsSync(trace))
})

test('each key has its line, whatever stands around it', async ({ folder }) => {
  const text = `# [comment]
top = "a # b" # c
[smart]
note = """
[not.a.table]
not_a_key = 1 \\"""
"""
enabled = true
[smart.oidc]
scopes = [
  "openid", # ]
  'pro"file',
]
allowed = { "a.b" = ["x"], c = { d = 1 } }
[ rate_limit . clients . "my app" ]
burst = 1
"quoted key" = '''
x = 1'''
[[list]]
a = 2020-01-01T00:00:00Z
[[list]]
b = -1.5e3
last.one = 3`
  await put(folder, 'server.toml', text)
  const { lines } = (await readSettings(folder))!
  const expected: Record<string, number> = {
    top: 2,
    smart: 3,
    'smart.note': 4,
    'smart.enabled': 8,
    'smart.oidc': 9,
    'smart.oidc.scopes': 10,
    'smart.oidc.scopes.0': 11,
    'smart.oidc.scopes.1': 12,
    'smart.oidc.allowed': 14,
    'smart.oidc.allowed.a.b': 14,
    'smart.oidc.allowed.a.b.0': 14,
    'smart.oidc.allowed.c': 14,
    'smart.oidc.allowed.c.d': 14,
    rate_limit: 15,
    'rate_limit.clients': 15,
    'rate_limit.clients.my app': 15,
    'rate_limit.clients.my app.burst': 16,
    'rate_limit.clients.my app.quoted key': 17,
    list: 19,
    'list.a': 20,
    'list.b': 22,
    'list.last': 23,
    'list.last.one': 23,
  }
  for (const [path, line] of Object.entries(expected)) assert.is(lines.get(path), line, path)
  assert.not(lines.has('not'))
})

test.run()

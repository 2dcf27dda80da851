/** Sections of all plugins and layered values → frozen objects, or all complaints at once. Acceptance: bad input, settings file. */
import { parse } from 'smol-toml'
import { type TObject, Type } from 'typebox'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import type { OwnedSection } from '../../kernel/settings/annotation.ts'
import { decode, SettingsInvalid } from '../../kernel/settings/decode.ts'
import { fromObject, fromSources, type Sources } from '../../kernel/settings/layer.ts'
import { linesOf } from '../../kernel/settings/lines.ts'

const own = (plugin: string, path: string, schema: TObject): OwnedSection => ({ plugin, path, schema })

const database = own(
  'database',
  'database',
  Type.Object({
    kind: Type.Union([Type.Literal('sqlite'), Type.Literal('memory'), Type.Literal('postgres')], { default: 'sqlite' }),
    postgres_url: Type.Optional(
      Type.String({ secret: true, minLength: 5, env: 'SERVER_POSTGRES_URL', flag: 'postgres' }),
    ),
  }),
)
const cluster = own(
  'cluster',
  'cluster',
  Type.Object({
    db_pool: Type.Integer({ default: 8, minimum: 1, maximum: 1000, env: 'SERVER_DB_POOL', flag: 'db-pool' }),
  }),
)
const fhir = own('fhir', 'conformance', Type.Object({ update_as_create: Type.Boolean({ default: false }) }))
const packages = own(
  'packages',
  'conformance',
  Type.Object({
    package_registry: Type.Optional(Type.String({ pattern: '^https?://', allowed: 'an http or https URL' })),
    packages: Type.Array(Type.String({ minLength: 1 }), { default: [] }),
  }),
)
const smart = own('smart', 'smart', Type.Object({ enabled: Type.Boolean({ default: false, flag: 'smart' }) }))
const oidc = own(
  'oidc',
  'smart.oidc',
  Type.Object({
    issuer: Type.Optional(Type.String()),
    client_secret: Type.Optional(
      Type.String({ secret: true, fileForbidden: true, env: 'SERVER_OIDC_CLIENT_SECRET', minLength: 8 }),
    ),
  }),
)
const limits = own(
  'limits',
  'rate_limit',
  Type.Object(
    {
      enabled: Type.Boolean({ default: false }),
      burst: Type.Number({ default: 100, exclusiveMinimum: 0 }),
      cost: Type.Object(
        { read: Type.Number({ default: 1, minimum: 0 }), write: Type.Number({ default: 2, minimum: 0 }) },
        { default: {} },
      ),
      clients: Type.Record(
        Type.String(),
        Type.Object({ burst: Type.Optional(Type.Number({ minimum: 1 })), note: Type.Optional(Type.String()) }),
        { default: {} },
      ),
    },
    { whenPresent: { enabled: true } },
  ),
)
const all = [database, cluster, fhir, packages, smart, oidc, limits]

const toml = (text: string, more: Omit<Sources, 'file'> = {}) =>
  fromSources({ file: { file: 'server.toml', values: parse(text), lines: linesOf(text) }, ...more })
const complaintsOf = (layered: Parameters<typeof decode>[1], sections = all): readonly string[] => {
  try {
    decode(sections, layered)
  } catch (error) {
    assert.instance(error, SettingsInvalid)
    return (error as SettingsInvalid).complaints
  }
  return assert.unreachable('it was accepted') as never
}

test('without any value every section has its defaults', () => {
  const settings = decode(all, fromSources({}))
  assert.equal({ ...settings.section('database') }, { kind: 'sqlite' })
  assert.equal({ ...settings.section('conformance') }, { update_as_create: false, packages: [] })
  assert.equal(JSON.parse(JSON.stringify(settings.section('rate_limit'))), {
    enabled: false,
    burst: 100,
    cost: { read: 1, write: 2 },
    clients: {},
  })
})

test('plugins that share a section see each other’s keys there', () => {
  const settings = decode(all, toml('[conformance]\nupdate_as_create = true\npackages = ["a@1"]'))
  assert.equal({ ...settings.section('conformance') }, { update_as_create: true, packages: ['a@1'] })
})

test('a section inside a section is decoded on its own', () => {
  const settings = decode(all, toml('[smart]\nenabled = true\n[smart.oidc]\nissuer = "https://id.example.org"'))
  assert.equal({ ...settings.section('smart') }, { enabled: true })
  assert.equal({ ...settings.section('smart.oidc') }, { issuer: 'https://id.example.org' })
})

test('a section that no plugin declares cannot be asked for', () => {
  assert.throws(() => decode(all, fromSources({})).section('metering'), 'No plugin declares the section [metering].')
})

test('what is decoded is frozen to the bottom', () => {
  const text = '[conformance]\npackages = ["a"]\n[rate_limit.clients.app]\nburst = 1'
  const settings = decode(all, toml(text))
  const clients = settings.section('rate_limit').clients as Record<string, { burst: number }>
  assert.throws(() => Object.assign(settings.section('database'), { kind: 'memory' }), TypeError)
  assert.throws(() => (settings.section('conformance').packages as string[]).push('b'), TypeError)
  assert.throws(() => Object.assign(clients.app!, { burst: 9 }), TypeError)
  assert.throws(() => Object.assign(clients, { other: {} }), TypeError)
})

test("a host's object is copied, not frozen", () => {
  const given = { conformance: { packages: ['a'] } }
  const settings = decode(all, fromObject(given))
  given.conformance.packages.push('b')
  assert.equal(settings.section('conformance').packages, ['a'])
})

test('defaults of one decoding are not shared with the next', () => {
  const first = decode(all, fromSources({})).section('rate_limit')
  const second = decode(all, fromSources({})).section('rate_limit')
  assert.is.not(first.clients, second.clients)
})

test('a map has no keys but its own, not even constructor', () => {
  const { clients } = decode(all, toml('[rate_limit.clients.app]\nburst = 1')).section('rate_limit') as any
  assert.is(clients.app.burst, 1)
  assert.is(clients.constructor, undefined)
  assert.is(clients.toString, undefined)
})

test('a value whose shape is not declared is frozen all the same, and has no keys but its own', () => {
  const free = own('free', 'free', Type.Object({ any: Type.Unknown() }))
  const { any } = decode([free], fromObject({ free: { any: { list: [{ a: 1 }] } } })).section('free') as any
  assert.is(any.constructor, undefined)
  assert.throws(() => any.list[0].a++, TypeError)
  assert.throws(() => any.list.push(1), TypeError)
})

test('a section that is written is on when its plugin says so, unless it says otherwise', () => {
  assert.is(decode(all, toml('[rate_limit]')).section('rate_limit').enabled, true)
  assert.is(decode(all, toml('[rate_limit.clients.app]')).section('rate_limit').enabled, true)
  assert.is(decode(all, toml('[rate_limit]\nenabled = false')).section('rate_limit').enabled, false)
  assert.is(decode(all, toml('[database]')).section('rate_limit').enabled, false)
})

test('an undefined value of a host counts as left out', () => {
  assert.is(
    decode(all, fromObject({ cluster: { db_pool: undefined }, metering: undefined })).section('cluster').db_pool,
    8,
  )
})

const refused: readonly [string, string, string][] = [
  [
    'an unknown key',
    '[conformance]\nupdate_as_creat = true',
    'server.toml:2: [conformance] update_as_creat is not a setting; did you mean update_as_create?',
  ],
  [
    'a key of another section',
    '[database]\ndb_pool = 3',
    'server.toml:2: [database] db_pool is not a setting; it belongs to [cluster]',
  ],
  [
    'a key like no other',
    '[database]\nzzz = 3',
    'server.toml:2: [database] zzz is not a setting; [database] takes kind, postgres_url',
  ],
  [
    'an unknown section',
    '\n[databse]\nkind = 1',
    'server.toml:2: [databse] is not a section of any plugin; did you mean [database]?',
  ],
  [
    'a key outside of its section',
    'db_pool = 3',
    'server.toml:1: db_pool stands outside of any section; it belongs to [cluster]',
  ],
  [
    'a section inside a section that has none',
    '[smart.oidx]\n',
    'server.toml:1: [smart] oidx is not a setting; did you mean oidc?',
  ],
  [
    'settings of a plugin that is not loaded',
    '[plugin.kafka]\ntopic = "a"',
    'server.toml:1: [plugin.kafka]: no plugin named kafka is loaded; add it to [plugins] load, or remove the section',
  ],
  [
    'a wrong word',
    '[database]\nkind = "mysql"',
    'server.toml:2: [database] kind is "mysql"; it takes one of sqlite, memory, postgres',
  ],
  ['text for a boolean', '[smart]\nenabled = "yes"', 'server.toml:2: [smart] enabled is "yes"; it takes true or false'],
  [
    'a fraction for an integer',
    '[cluster]\ndb_pool = 1.5',
    'server.toml:2: [cluster] db_pool is 1.5; it takes an integer from 1 to 1000',
  ],
  [
    'a number below its bound',
    '[cluster]\ndb_pool = 0',
    'server.toml:2: [cluster] db_pool is 0; it takes an integer from 1 to 1000',
  ],
  [
    'a number that is none',
    '[rate_limit]\nburst = nan',
    'server.toml:2: [rate_limit] burst is NaN; it takes a number above 0',
  ],
  [
    'an infinite number',
    '[rate_limit]\nburst = inf',
    'server.toml:2: [rate_limit] burst is Infinity; it takes a number above 0',
  ],
  [
    'a date for a string',
    '[smart.oidc]\nissuer = 2020-01-01',
    'server.toml:2: [smart.oidc] issuer is 2020-01-01; it takes a string',
  ],
  [
    'a string against its pattern',
    '[conformance]\npackage_registry = "ftp://x"',
    'server.toml:2: [conformance] package_registry is "ftp://x"; it takes an http or https URL',
  ],
  [
    'one wrong item of an array, by its own line',
    '[conformance]\npackages = [\n  "a",\n  3,\n]',
    'server.toml:4: [conformance] packages.1 is 3; it takes a string that is not empty',
  ],
  [
    'one value for an array',
    '[conformance]\npackages = "a"',
    'server.toml:2: [conformance] packages is "a"; it takes an array, each of it a string that is not empty',
  ],
  ['a value for a section', 'smart = true', 'server.toml:1: smart is a value; [smart] is a table'],
  [
    'a list of tables for a section',
    '[[smart]]\nenabled = true',
    'server.toml:1: smart is a value; [smart] is a table',
  ],
  [
    'an unknown key in a nested table',
    '[rate_limit.cost]\nreed = 1',
    'server.toml:2: [rate_limit] cost.reed is not a setting; did you mean read?',
  ],
  [
    'a wrong value in a nested table',
    '[rate_limit]\ncost.read = -1',
    'server.toml:2: [rate_limit] cost.read is -1; it takes a number of at least 0',
  ],
  [
    'a wrong value in a map',
    '[rate_limit.clients.app]\nburst = 0',
    'server.toml:2: [rate_limit] clients.app.burst is 0; it takes a number of at least 1',
  ],
  [
    'a map entry that is no table',
    '[rate_limit]\nclients.app = 5',
    'server.toml:2: [rate_limit] clients.app is 5; it takes a table',
  ],
]
for (const [what, text, complaint] of refused)
  test(`${what} is refused with line, key, value and what is allowed`, () => {
    assert.equal(complaintsOf(toml(text)), [complaint])
  })

test('a wrong variable and a wrong flag are named as such', () => {
  assert.equal(complaintsOf(fromSources({ environment: { SERVER_DB_POOL: 'many' } })), [
    'SERVER_DB_POOL: [cluster] db_pool is "many"; it takes an integer from 1 to 1000',
  ])
  assert.equal(complaintsOf(fromSources({ flags: { 'db-pool': '0x10' } })), [
    '--db-pool: [cluster] db_pool is "0x10"; it takes an integer from 1 to 1000',
  ])
})

test('a wrong value of a host is named by its setting', () => {
  assert.equal(complaintsOf(fromObject({ cluster: { db_pool: 0 } })), [
    'settings: [cluster] db_pool is 0; it takes an integer from 1 to 1000',
  ])
})

test('a value above that hides a wrong one below makes the settings valid', () => {
  assert.is(decode(all, toml('[cluster]\ndb_pool = 0', { flags: { 'db-pool': '5' } })).section('cluster').db_pool, 5)
})

test('all complaints come at once', () => {
  const text =
    '[database]\nkind = 1\n[cluster]\ndb_pool = 0\nrole = "x"\n[nonsense]\n[rate_limit.clients.a]\nburst = 0\n[rate_limit.clients.b]\nburst = 0'
  const complaints = complaintsOf(toml(text, { environment: { SERVER_OIDC_CLIENT_SECRET: 'short' } }))
  assert.equal(complaints.map((line) => line.split(' ')[0]).sort(), [
    'SERVER_OIDC_CLIENT_SECRET:',
    'server.toml:10:',
    'server.toml:2:',
    'server.toml:4:',
    'server.toml:5:',
    'server.toml:6:',
    'server.toml:8:',
  ])
})

test('null from a host is a wrong value, not a missing one', () => {
  assert.equal(complaintsOf(fromObject({ cluster: { db_pool: null }, rate_limit: { cost: { read: null } } })), [
    'settings: [cluster] db_pool is null; it takes an integer from 1 to 1000',
    'settings: [rate_limit] cost.read is null; it takes a number of at least 0',
  ])
})

test('a secret inside a map is masked, and named for the logs', () => {
  const section = own(
    'hooks',
    'hooks',
    Type.Object({
      to: Type.Record(
        Type.String(),
        Type.Object({ url: Type.String(), token: Type.String({ secret: true, minLength: 3 }) }),
      ),
    }),
  )
  const settings = decode([section], toml('[hooks.to.a]\nurl = "https://h"\ntoken = "hunter2"'))
  assert.not.match(JSON.stringify(settings.report()), 'hunter2')
  assert.equal(settings.secrets(), ['hunter2'])
  assert.not.match(complaintsOf(toml('[hooks.to.a]\nurl = "u"\ntoken = 12'), [section]).join(), '12')
})

test('more complaints than a validator usually keeps all come', () => {
  const text = Array.from({ length: 30 }, (_, at) => `[rate_limit.clients.c${at}]\nburst = 0\n`).join('')
  assert.is(complaintsOf(toml(text)).length, 30)
})

test('a setting without default that is nowhere set is refused with the ways to set it', () => {
  const section = own(
    'kafka',
    'plugin.kafka',
    Type.Object({ topic: Type.String({ env: 'KAFKA_TOPIC', flag: 'kafka-topic' }) }),
  )
  assert.equal(complaintsOf(fromSources({}), [section]), [
    'settings: [plugin.kafka] topic is missing; set topic under [plugin.kafka] or KAFKA_TOPIC or --kafka-topic to a string',
  ])
})

test('the section of a loaded third-party plugin is read', () => {
  const section = own('kafka', 'plugin.kafka', Type.Object({ topic: Type.String() }))
  assert.is(decode([...all, section], toml('[plugin.kafka]\ntopic = "a"')).section('plugin.kafka').topic, 'a')
})

test('a long value is shortened in its complaint', () => {
  const [complaint] = complaintsOf(toml(`[database]\nkind = "${'x'.repeat(10_000)}"`))
  assert.ok(complaint!.length < 200)
})

test('a value with line ends stays on one line of the complaint', () => {
  const [complaint] = complaintsOf(toml('[database]\nkind = """a\nb"""'))
  assert.is(complaint, 'server.toml:2: [database] kind is "a\\nb"; it takes one of sqlite, memory, postgres')
})

test('a key that plugins share has one owner: two are refused by name', () => {
  const twice = own('other', 'database', Type.Object({ kind: Type.String() }))
  assert.throws(
    () => decode([database, twice], fromSources({})),
    'The plugins "database" and "other" both declare the setting database.kind; a setting has one owner.',
  )
})

test('a key may not be a section at the same time', () => {
  const key = own('other', 'smart', Type.Object({ oidc: Type.String() }))
  assert.throws(() => decode([oidc, key], fromSources({})), /"oidc" and "other" both declare the setting smart\.oidc/)
})

test('a flag has one owner: two are refused by name', () => {
  const twice = own('other', 'other', Type.Object({ pool: Type.Optional(Type.String({ flag: 'db-pool' })) }))
  assert.throws(
    () => decode([cluster, twice], fromSources({})),
    'The plugins "cluster" and "other" both declare the flag --db-pool (for cluster.db_pool and other.pool).',
  )
})

test('a secret that belongs outside of the file is refused there, without its value', () => {
  const complaints = complaintsOf(toml('[smart.oidc]\nclient_secret = "hunter2hunter2"'))
  assert.equal(complaints, [
    'server.toml:2: [smart.oidc] client_secret is kept out of the file; set SERVER_OIDC_CLIENT_SECRET instead',
  ])
})

test('a host may give such a secret', () => {
  const settings = decode(all, fromObject({ smart: { oidc: { client_secret: 'hunter2hunter2' } } }))
  assert.is(settings.section('smart.oidc').client_secret, 'hunter2hunter2')
})

test('no complaint shows a secret, however it is wrong', () => {
  const ways = [
    fromSources({ environment: { SERVER_OIDC_CLIENT_SECRET: 'hunter2' } }),
    fromSources({ flags: { postgres: '1234' } }),
    toml('[database]\npostgres_url = ["hunter2-secret"]'),
    toml('[database]\npostgres_ur = "postgresql://a:hunter2@h/db"'),
    toml('[smart.oidc]\nissuer = ["https://u:hunter2@id.example.org"]'),
  ]
  for (const way of ways) {
    const text = complaintsOf(way).join('\n')
    assert.not.match(text, 'hunter2')
    assert.not.match(text, '1234')
  }
})

test('the report masks secrets and passwords inside URLs, and says where each value came from', () => {
  const settings = decode(
    all,
    fromSources({
      environment: { SERVER_OIDC_CLIENT_SECRET: 'hunter2hunter2' },
      flags: { postgres: 'postgresql://u:pa%40ss@h/db', smart: true },
    }),
  )
  const report = settings.report()
  assert.not.match(JSON.stringify(report), /hunter2|pa%40ss/)
  assert.equal(
    report
      .filter(({ origin }) => origin.source !== 'default')
      .map(({ path, value, origin, secret }) => ({ path, value, origin, secret })),
    [
      { path: 'database.postgres_url', value: '[secret]', origin: { source: 'flag', name: 'postgres' }, secret: true },
      { path: 'smart.enabled', value: true, origin: { source: 'flag', name: 'smart' }, secret: false },
      {
        path: 'smart.oidc.client_secret',
        value: '[secret]',
        origin: { source: 'environment', name: 'SERVER_OIDC_CLIENT_SECRET' },
        secret: true,
      },
    ],
  )
})

test('the report lists unset settings and every value of a map', () => {
  const report = decode(all, toml('[rate_limit.clients.app]\nburst = 3')).report()
  const at = (path: string) => report.find((one) => one.path === path)
  assert.is(at('smart.oidc.issuer')?.value, undefined)
  assert.ok(at('smart.oidc.issuer'))
  assert.equal(at('rate_limit.clients.app.burst'), {
    path: 'rate_limit.clients.app.burst',
    section: 'rate_limit',
    words: ['clients', 'app', 'burst'],
    value: 3,
    origin: { source: 'file', file: 'server.toml', line: 2 },
    secret: false,
  })
  assert.is(at('rate_limit.cost.read')?.value, 1)
})

test('the secrets to keep out of logs are the values, and the passwords inside URLs as written and as decoded', () => {
  const settings = decode(
    all,
    fromSources({
      flags: { postgres: 'postgresql://u:pa%40ss@h/db' },
      environment: { SERVER_OIDC_CLIENT_SECRET: 'hunter2hunter2' },
    }),
  )
  assert.equal([...settings.secrets()].sort(), ['hunter2hunter2', 'pa%40ss', 'pa@ss', 'postgresql://u:pa%40ss@h/db'])
})

test('a password among libpq pairs is a secret too', () => {
  const plain = own('database', 'database', Type.Object({ url: Type.String() }))
  const settings = decode([plain], fromObject({ database: { url: "host=h user=u password='it\\'s me' dbname=d" } }))
  assert.equal(settings.secrets(), ["it's me"])
  assert.is(settings.report()[0]!.value, 'host=h user=u password=[secret] dbname=d')
})

test.run()

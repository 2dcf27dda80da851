/** Every setting of the specification is declared once, by its exact name, type, variable and flag; nothing else is, unseen. */
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { choices } from '../kernel/settings/allowed.ts'
import {
  commandLineFlagsOf,
  type Setting,
  type SettingSchema,
  settingsOf,
  variablesOf,
} from '../kernel/settings/annotation.ts'
import { sectionsOf } from '../kernel/settings/sections.ts'
import { firstParty } from '../plugins/index.ts'

type Kind = 'string' | 'integer' | 'number' | 'boolean' | 'strings' | 'table' | readonly string[]

interface Row {
  /** The plugin that declares it. A row counts as built as soon as that plugin is one of ours. */
  readonly plugin: string
  readonly kind: Kind
  readonly env?: string
  readonly flag?: string
  /** Flags without value: name → what it sets. */
  readonly flags?: Readonly<Record<string, string>>
  /** Where the specification names the default. */
  readonly default?: unknown
  readonly secret?: boolean
  readonly fileForbidden?: boolean
}

/**
 * Spec: Configuration settings and Limits. It names no variable for some settings that a container needs, whose
 * environment is all there is; these are SERVER_BIND, _TRUSTED_PROXY_HOPS, _TRUSTED_PROXY_PEERS, _PACKAGES, _SMART and
 * _EXPORT_DIR.
 */
const KEYS: Readonly<Record<string, Row>> = {
  'fhir.version': { plugin: 'database', kind: ['r4'] },
  'server.bind': { plugin: 'kernel', kind: 'string', env: 'SERVER_BIND', flag: 'bind' },
  'server.public_url': { plugin: 'kernel', kind: 'string', env: 'SERVER_PUBLIC_URL', flag: 'public-url' },
  'server.trusted_proxy_hops': { plugin: 'kernel', kind: 'integer', env: 'SERVER_TRUSTED_PROXY_HOPS' },
  'server.trusted_proxy_peers': { plugin: 'kernel', kind: 'strings', env: 'SERVER_TRUSTED_PROXY_PEERS' },
  'database.kind': { plugin: 'database', kind: ['sqlite', 'memory', 'postgres'], flags: { memory: 'memory' } },
  'database.sqlite_path': { plugin: 'database', kind: 'string', flag: 'sqlite', default: 'refhir.sqlite' },
  'database.postgres_url': { plugin: 'database', kind: 'string', env: 'SERVER_POSTGRES_URL', flag: 'postgres' },
  'cluster.role': {
    plugin: 'cluster',
    kind: ['primary', 'standby', 'replica'],
    env: 'SERVER_ROLE',
    flag: 'role',
    flags: { standby: 'standby' },
  },
  'cluster.primary_url': { plugin: 'cluster', kind: 'string', env: 'SERVER_PRIMARY_URL', flag: 'primary-url' },
  'cluster.db_pool': { plugin: 'database', kind: 'integer', env: 'SERVER_DB_POOL', flag: 'db-pool' },
  'conformance.reference_policy': {
    plugin: 'references',
    kind: ['strict', 'fhir'],
    flag: 'references',
    default: 'strict',
  },
  'conformance.update_as_create': {
    plugin: 'fhir',
    kind: 'boolean',
    env: 'SERVER_UPDATE_AS_CREATE',
    flag: 'update-as-create',
    default: false,
  },
  'conformance.package_registry': { plugin: 'packages', kind: 'string', env: 'SERVER_PACKAGE_REGISTRY' },
  'conformance.package_cache': { plugin: 'packages', kind: 'string', env: 'SERVER_PACKAGE_CACHE' },
  'conformance.packages': { plugin: 'packages', kind: 'strings', env: 'SERVER_PACKAGES', flag: 'package' },
  'smart.enabled': { plugin: 'smart', kind: 'boolean', env: 'SERVER_SMART', flag: 'smart' },
  'smart.patient': { plugin: 'smart', kind: 'string', flag: 'smart-patient' },
  'smart.encounter': { plugin: 'smart', kind: 'string', flag: 'smart-encounter' },
  'smart.fhir_user': { plugin: 'smart', kind: 'string', flag: 'smart-fhir-user' },
  'smart.demo_login': { plugin: 'smart', kind: 'boolean', flag: 'smart-demo-login' },
  'smart.oidc.issuer': { plugin: 'oidc', kind: 'string', env: 'SERVER_OIDC_ISSUER', flag: 'oidc-issuer' },
  'smart.oidc.client_id': { plugin: 'oidc', kind: 'string', env: 'SERVER_OIDC_CLIENT_ID', flag: 'oidc-client-id' },
  'smart.oidc.client_secret': {
    plugin: 'oidc',
    kind: 'string',
    env: 'SERVER_OIDC_CLIENT_SECRET',
    secret: true,
    fileForbidden: true,
  },
  'smart.oidc.scopes': { plugin: 'oidc', kind: 'strings' },
  'smart.oidc.fhir_user_claim': { plugin: 'oidc', kind: 'string' },
  'smart.oidc.allowed_claims': { plugin: 'oidc', kind: 'table' },
  'smart.oidc.allowed_email_domains': { plugin: 'oidc', kind: 'strings' },
  'smart.oidc.patient_from_fhir_user': { plugin: 'oidc', kind: 'boolean' },
  'smart.oidc.fhir_user_lookup.resource_type': { plugin: 'oidc', kind: 'string' },
  'smart.oidc.fhir_user_lookup.claim': { plugin: 'oidc', kind: 'string' },
  'smart.oidc.fhir_user_lookup.system': { plugin: 'oidc', kind: 'string' },
  'export.dir': { plugin: 'export', kind: 'string', env: 'SERVER_EXPORT_DIR', flag: 'export-dir' },
  'terminology.urls': { plugin: 'terminology', kind: 'strings', flag: 'terminology' },
  'features.trace_engine': { plugin: 'trace', kind: 'boolean', flag: 'trace-engine' },
  'features.sdc_archiver': { plugin: 'sdc-archiver', kind: 'boolean', flag: 'sdc-archiver' },
  'metering.enabled': { plugin: 'metering', kind: 'boolean', default: true },
  'request_log.enabled': { plugin: 'request-log', kind: 'boolean', default: true },
  'request_log.store': { plugin: 'request-log', kind: 'boolean' },
  'request_log.retention_hours': { plugin: 'request-log', kind: 'integer' },
  'request_log.refused_per_second': { plugin: 'request-log', kind: 'integer' },
  'audit.enabled': { plugin: 'audit', kind: 'boolean', default: true },
  'audit.reads': { plugin: 'audit', kind: 'boolean' },
  'audit.include_query': { plugin: 'audit', kind: 'boolean' },
  'audit.retention_days': { plugin: 'audit', kind: 'integer' },
  'audit.unattributed_per_second': { plugin: 'audit', kind: 'integer' },
  'rate_limit.enabled': { plugin: 'limits', kind: 'boolean' },
  'rate_limit.requests_per_second': { plugin: 'limits', kind: 'number' },
  'rate_limit.burst': { plugin: 'limits', kind: 'number' },
  'rate_limit.auth_failures_per_minute': { plugin: 'limits', kind: 'integer' },
  'rate_limit.max_sync_connections': { plugin: 'limits', kind: 'integer' },
  'rate_limit.max_live_queries': { plugin: 'limits', kind: 'integer' },
  'rate_limit.servers': { plugin: 'limits', kind: 'integer' },
  'rate_limit.anonymous_requests_per_second': { plugin: 'limits', kind: 'number' },
  'rate_limit.anonymous_burst': { plugin: 'limits', kind: 'number' },
  ...Object.fromEntries(
    ['read', 'search', 'write', 'bundle', 'operation', 'export', 'sync'].map((name) => [
      `rate_limit.cost.${name}`,
      { plugin: 'limits', kind: 'number' } as const,
    ]),
  ),
  'rate_limit.clients': { plugin: 'limits', kind: 'table' },
  'quota.enabled': { plugin: 'limits', kind: 'boolean' },
  ...Object.fromEntries(
    ['day', 'month'].flatMap((span) =>
      ['requests', 'writes', 'bytes'].map((what) => [
        `quota.${what}_per_${span}`,
        { plugin: 'limits', kind: 'integer' } as const,
      ]),
    ),
  ),
  'quota.refresh_seconds': { plugin: 'limits', kind: 'integer' },
  'quota.most_addresses': { plugin: 'limits', kind: 'integer' },
  'quota.clients': { plugin: 'limits', kind: 'table' },
}

/** Variables of the specification that have no key in its file; the key's name is ours. */
const VARIABLES: Readonly<Record<string, Omit<Row, 'env'>>> = {
  SERVER_SKIP_DEFAULT_PACKAGES: { plugin: 'packages', kind: 'boolean' },
  SERVER_S3_ACCESS_KEY_ID: { plugin: 'packages', kind: 'string' },
  SERVER_S3_SECRET_ACCESS_KEY: { plugin: 'packages', kind: 'string', secret: true },
  SERVER_S3_SESSION_TOKEN: { plugin: 'packages', kind: 'string', secret: true },
  SERVER_S3_ENDPOINT: { plugin: 'packages', kind: 'string' },
  SERVER_S3_REGION: { plugin: 'packages', kind: 'string' },
  SERVER_SMART_DCR_TOKEN: { plugin: 'smart', kind: 'string', flag: 'smart-dcr-token', secret: true },
  SERVER_SMART_CONFIDENTIAL_SECRET: {
    plugin: 'smart',
    kind: 'string',
    flag: 'smart-confidential-secret',
    secret: true,
  },
  SERVER_ALLOW_REMOTE_DEMO_LOGIN: { plugin: 'smart', kind: 'boolean' },
  SERVER_SIGNING_KEY_PASSPHRASE: { plugin: 'smart', kind: 'string', secret: true },
  SERVER_AUDIT_KEY: { plugin: 'audit', kind: 'string', secret: true },
}

/** Keys that the specification does not have, each with the reason that we do. */
const OURS: Readonly<Record<string, string>> = {
  'server.compress_from_bytes': 'a proxy in front may compress already, and then the server need not',
  'html.enabled': 'an operator may want no pages of data in browsers',
  'console.enabled': 'pages show the use of the server, so an operator asks for them',
  'plugins.load': 'third-party plugins',
  'smart.inside_jwks_hosts':
    'keys of clients are fetched from the public internet only, and hospitals have services inside',
  'conformance.validation': 'the specification says that writes are checked, not how far',
  'audit.previous_keys': 'a key that is changed has sealed what is still there',
  'conformance.conditional_delete': 'FHIR leaves it to the server whether a condition deletes several resources',
  'log.level': 'the debug log, which the specification speaks of, must be reachable',
  'cors.origins': 'browsers let a page call a server of another origin only where that server says so',
  'expunge.anonymous': 'without access tokens nobody can be told apart, so only who runs the server can allow erasing',
  'metrics.enabled': 'figures for Prometheus, which the specification does not have',
  'database.sqlite_mmap_size':
    'whoever would rather have an answer than speed when a disk fails must be able to say so',
  'fhir.max_body_bytes': 'the specification does not show a limit on request size',
  'server.memory_bytes':
    'a container has a limit, and whoever shares a machine must be able to say how much a server may take',
  'fhir.cache_bytes': 'memory is the operator’s to give',
  'fhir.large_body_bytes': 'the specification does not show what other requests wait for, and threads take memory',
  'fhir.full_text': 'the specification does not show what words are indexed, and operators pay for it with each write',
  'import.sources': 'the specification does not show an import, and a client must not choose what a server reads',
  'import.inside_hosts': 'files are fetched from the public internet only, and hospitals have services inside',
  'import.max_file_bytes': 'a file of another host has no end that the operator knows of',
  'features.otlp_endpoint': 'operators have a collector of OpenTelemetry, and its variable is known to all who do',
  'fhir.page_size': 'the specification does not show a page size',
  'fhir.max_page_size': 'the specification does not show a largest page',
  'subscriptions.rest_hook_hosts':
    'the specification has no Subscriptions, and a server calls nobody whom its operator has not named',
  'subscriptions.rest_hook_http': 'endpoints inside a network often have no certificate',
  'subscriptions.websocket': 'off, so that an update of the server opens no address',
  'subscriptions.retry_minutes': 'how long a receiver may be away is for the operator to say',
}

interface Declared {
  readonly path: string
  readonly schema: SettingSchema
  readonly setting: Setting
}

/** Tables of settings are the keys inside them; maps are one key. */
const inside = (path: string, schema: SettingSchema, setting: Setting): Declared[] =>
  schema.properties === undefined
    ? [{ path, schema, setting }]
    : Object.entries(schema.properties).flatMap(([key, own]) => inside(`${path}.${key}`, own, setting))

const declared = settingsOf(sectionsOf(firstParty, [])).flatMap((setting) =>
  inside(setting.path, setting.schema, setting),
)
const plugins = new Set(['kernel', ...firstParty.map((plugin) => plugin.name)])
const variableOf = ({ schema }: Declared): string | undefined => variablesOf(schema).find((name) => VARIABLES[name])

const kindOf = (schema: SettingSchema): Kind => {
  const literals = choices(schema)
  if (literals !== undefined) return literals as string[]
  if (schema.type === 'array') return 'strings'
  return schema.type === 'object' ? 'table' : (schema.type as Kind)
}

const check = ({ path, schema }: Declared, row: Row): void => {
  assert.equal(kindOf(schema), row.kind, `type of ${path}`)
  // Names of a provider's own may follow: "the provider's standard variables are read too".
  assert.is(variablesOf(schema)[0], row.env, `variable of ${path}`)
  assert.is(schema.flag, row.flag, `flag of ${path}`)
  assert.equal(schema.flagValues ?? {}, row.flags ?? {}, `flags without value of ${path}`)
  if (Object.hasOwn(row, 'default')) assert.equal(schema.default, row.default, `default of ${path}`)
  if (row.secret) assert.is(schema.secret, true, `${path} is a secret`)
  if (row.fileForbidden) assert.is(schema.fileForbidden, true, `${path} is kept out of the file`)
}

for (const [path, row] of Object.entries(KEYS)) {
  const found = declared.filter((one) => one.path === path)
  if (!plugins.has(row.plugin) && found.length === 0) continue
  test(`${path} is declared once, as the specification has it`, () => {
    assert.is(found.length, 1)
    check(found[0]!, row)
  })
}

for (const [env, row] of Object.entries(VARIABLES)) {
  const found = declared.filter((one) => variablesOf(one.schema).includes(env))
  if (!plugins.has(row.plugin) && found.length === 0) continue
  test(`${env} sets one setting, as the specification has it`, () => {
    assert.is(found.length, 1)
    check(found[0]!, { ...row, env })
  })
}

test('what is declared is in the specification, or is ours for a reason', () => {
  const unseen = declared.filter((one) => !KEYS[one.path] && !OURS[one.path] && variableOf(one) === undefined)
  assert.equal(
    unseen.map(({ path }) => path),
    [],
  )
})

test('every setting has one description, which is a sentence', () => {
  const without = declared.filter(({ schema }) => !/^[A-Z0-9].*[.]$/s.test(schema.description ?? ''))
  assert.equal(
    without.map(({ path, schema }) => `${path}: ${schema.description}`),
    [],
  )
})

test('a setting that is called a secret is marked as one', () => {
  const open = declared.filter(
    ({ path, schema }) => /(secret|token|password|passphrase)/.test(path) && schema.type === 'string' && !schema.secret,
  )
  assert.equal(
    open.map(({ path }) => path),
    [],
  )
})

test('variables start with SERVER_, and flags are lower-case words', () => {
  for (const { path, schema } of declared) {
    if (variablesOf(schema).length > 0) assert.match(variablesOf(schema)[0]!, /^SERVER_[A-Z0-9_]+$/, path)
    for (const flag of commandLineFlagsOf(schema)) assert.match(flag, /^[a-z0-9]+(-[a-z0-9]+)*$/, path)
  }
})

test('every setting that can be left out has a default or is optional', () => {
  const needed = settingsOf(sectionsOf(firstParty, [])).filter((setting) => setting.required)
  assert.equal(
    needed.map(({ path }) => path),
    [],
    'server starts without any setting',
  )
})

test.run()

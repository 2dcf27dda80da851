/**
 * Parses and checks a PostgreSQL connection string. PG* environment variables, service files and password files are not
 * used.
 */
import { userInfo } from 'node:os'
import { type Endpoint, readEndpoints } from './endpoints.ts'
import { ConninfoParameterUnknown, ConninfoParameterValue, ParameterUnsupported } from './errors.ts'
import { type Parameters, readParameters } from './parameters.ts'
import { readTlsSettings, type TlsSettings } from './tls-settings.ts'

const CONNECT_TIMEOUT_MS = 5_000 // per address; libpq's own default is to wait for ever
const KEEPALIVE_IDLE_MS = 10_000 // the kernel then probes each second and gives up after ten
const MAX_SECONDS = 2_147_483 // the longest a timer can wait

const SESSIONS = ['any', 'read-write', 'read-only', 'primary', 'standby'] as const

export type SessionAttrs = (typeof SESSIONS)[number]

export interface Conninfo {
  /** In the order they are tried. */
  readonly endpoints: readonly Endpoint[]
  readonly user: string
  /** Not enumerable: neither printed nor logged with the rest. */
  readonly password: string | undefined
  readonly database: string
  readonly applicationName: string
  /** For each address; 0 means no limit. */
  readonly connectTimeoutMs: number
  /** Idle time before the first TCP keepalive; undefined turns them off. */
  readonly keepaliveMs: number | undefined
  /** Command-line options for the server process, e.g. `-c search_path=fhir`. */
  readonly options: string | undefined
  /** channel_binding=prefer: SCRAM-SHA-256-PLUS when the server offers it over TLS. */
  readonly channelBinding: boolean
  readonly targetSessionAttrs: SessionAttrs
  readonly tls: TlsSettings
}

// Parameters that are refused, each with the reason; all others that libpq knows are read below.
const UNSUPPORTED: Readonly<Record<string, string>> = {
  authtype: 'it has no meaning any more',
  gssdelegation: 'there is no GSSAPI',
  gsslib: 'there is no GSSAPI',
  keepalives_count: 'the platform fixes it at 10',
  keepalives_interval: 'the platform fixes it at one second',
  krbsrvname: 'there is no GSSAPI',
  max_protocol_version: 'it is always 3.0',
  min_protocol_version: 'it is always 3.0',
  oauth_client_id: 'there is no OAuth login',
  oauth_client_secret: 'there is no OAuth login',
  oauth_issuer: 'there is no OAuth login',
  oauth_scope: 'there is no OAuth login',
  passfile: 'give the password in the string',
  replication: 'the server opens ordinary sessions only',
  require_auth: 'use verify-full to know the server',
  requirepeer: 'the owner of the socket is not checked',
  requiressl: 'use sslmode',
  scram_client_key: 'give the password in the string',
  scram_server_key: 'give the password in the string',
  service: 'give the parameters in the string',
  servicefile: 'give the parameters in the string',
  ssl_max_protocol_version: 'TLS 1.2 and newer are offered',
  ssl_min_protocol_version: 'it is always TLSv1.2',
  sslcertmode: 'a certificate is sent whenever the server asks for it',
  sslcompression: 'TLS is never compressed',
  sslcrl: 'revocation lists are not read',
  sslcrldir: 'revocation lists are not read',
  sslkeylogfile: 'session keys are never written',
  sslpassword: 'keep the key unencrypted, readable by the server alone',
  sslsni: 'the host name is always sent',
  tcp_user_timeout: 'statements have their own deadline',
  tty: 'it has no meaning any more',
}
const SUPPORTED: ReadonlySet<string> = new Set([
  'host',
  'hostaddr',
  'port',
  'dbname',
  'user',
  'password',
  'connect_timeout',
  'client_encoding',
  'options',
  'application_name',
  'fallback_application_name',
  'keepalives',
  'keepalives_idle',
  'sslmode',
  'sslnegotiation',
  'sslrootcert',
  'sslcert',
  'sslkey',
  'gssencmode',
  'channel_binding',
  'target_session_attrs',
  'load_balance_hosts',
])

export interface ConninfoDefaults {
  readonly applicationName: string
  /** Name of the account the process runs under: libpq's default user. */
  readonly account: () => string
}

const DEFAULTS: ConninfoDefaults = { applicationName: 'refhir', account: () => userInfo().username }

/** Throws one of the errors of the connection string, which name the parameter and never the password. */
export const parseConninfo = (text: string, defaults: ConninfoDefaults = DEFAULTS): Conninfo => {
  const parameters = readParameters(text)
  for (const name of parameters.keys()) {
    if (Object.hasOwn(UNSUPPORTED, name)) throw ParameterUnsupported(name, UNSUPPORTED[name]!)
    if (!SUPPORTED.has(name)) throw ConninfoParameterUnknown(name)
  }
  const given = (name: string): string | undefined => parameters.get(name) || undefined
  oneOf(parameters, 'gssencmode', ['disable'], ': there is no GSSAPI')
  oneOf(parameters, 'load_balance_hosts', ['disable'], ': hosts are tried in their order')
  oneOf(parameters, 'client_encoding', ['UTF8', 'utf8', 'UTF-8', 'utf-8', 'auto'], ': nothing else is spoken')
  const channelBinding = oneOf(parameters, 'channel_binding', ['disable', 'prefer'], '')
  const keepalives = whole(parameters, 'keepalives')
  if (keepalives !== undefined && keepalives !== 0 && keepalives !== 1)
    throw ConninfoParameterValue('keepalives', '0 or 1')
  const idle = whole(parameters, 'keepalives_idle')
  const timeout = whole(parameters, 'connect_timeout')
  const tls = readTlsSettings(parameters)
  const endpoints = readEndpoints(parameters)
  if (tls.verifyName && endpoints.some((endpoint) => endpoint.kind === 'tcp' && endpoint.host === undefined))
    throw ConninfoParameterValue('host', 'given beside hostaddr: sslmode=verify-full checks the certificate against it')

  const user = given('user') ?? defaults.account()
  const conninfo: Omit<Conninfo, 'password'> = {
    endpoints,
    user,
    database: given('dbname') ?? user,
    applicationName: given('application_name') ?? given('fallback_application_name') ?? defaults.applicationName,
    connectTimeoutMs: timeout === undefined ? CONNECT_TIMEOUT_MS : Math.max(timeout, 0) * 1_000,
    keepaliveMs: keepalives === 0 ? undefined : idle === undefined || idle <= 0 ? KEEPALIVE_IDLE_MS : idle * 1_000,
    options: given('options'),
    channelBinding: channelBinding === 'prefer',
    targetSessionAttrs: (oneOf(parameters, 'target_session_attrs', SESSIONS, '') as SessionAttrs | undefined) ?? 'any',
    tls,
  }
  return Object.freeze(Object.defineProperty(conninfo, 'password', { value: given('password') })) as Conninfo
}

const oneOf = (parameters: Parameters, name: string, values: readonly string[], why: string): string | undefined => {
  const value = parameters.get(name)
  if (value === undefined || values.includes(value)) return value
  throw ConninfoParameterValue(name, `${values.length > 1 ? 'one of ' : ''}${values.join(', ')}${why}`)
}

/** Reads a whole number as libpq does: blanks around it and a sign are allowed. */
const whole = (parameters: Parameters, name: string): number | undefined => {
  const value = parameters.get(name)
  if (value === undefined) return undefined
  const number = /^\s*[+-]?\d+\s*$/.test(value) ? Number(value) : Number.NaN
  if (!(Math.abs(number) <= MAX_SECONDS)) throw ConninfoParameterValue(name, 'a whole number')
  return number
}

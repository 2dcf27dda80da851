/** The connection string: read as libpq reads it, and refused at start where it asks for what the server will not do. */
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { type Conninfo, parseConninfo } from '../../../../plugins/database/postgres/conninfo.ts'

const SECRET = 'hunter2'
const parse = (text: string): Conninfo => parseConninfo(text, { applicationName: 'refhir', account: () => 'daemon' })
const tcp = (host: string | undefined, port = 5432, address?: string) => ({ kind: 'tcp', host, address, port })

const refusalOf = (text: string): string => {
  try {
    parse(text)
  } catch (error) {
    return (error as Error).message
  }
  throw new Error(`${text} was accepted`)
}

const READ: readonly (readonly [string, Partial<Conninfo>])[] = [
  [
    'postgresql://user:pass@db.test:5433/fhir',
    { endpoints: [tcp('db.test', 5433)], user: 'user', password: 'pass', database: 'fhir' } as Partial<Conninfo>,
  ],
  ['postgres://db.test', { endpoints: [tcp('db.test')], user: 'daemon', database: 'daemon' } as Partial<Conninfo>],
  ['postgresql://u:p%40ss%2Fw%3Ard@db.test/d', { password: 'p@ss/w:rd' }],
  ['postgresql://u:p:q?r#s@db.test/d', { password: 'p:q?r#s' }],
  ['postgresql://u:a+b@db.test/d', { password: 'a+b' }],
  ['postgresql://u@[::1]:5432/d', { endpoints: [tcp('::1')] } as Partial<Conninfo>],
  ['postgresql://u@[2001:DB8::1]/d', { endpoints: [tcp('2001:DB8::1')] } as Partial<Conninfo>],
  ['postgresql://u@%2Frun%2Fpg/d', { endpoints: [{ kind: 'unix', path: '/run/pg/.s.PGSQL.5432', port: 5432 }] }],
  [
    'postgresql:///d?host=/run/pg&port=6000',
    { endpoints: [{ kind: 'unix', path: '/run/pg/.s.PGSQL.6000', port: 6000 }] },
  ],
  ['host=/run/pg user=u', { endpoints: [{ kind: 'unix', path: '/run/pg/.s.PGSQL.5432', port: 5432 }], database: 'u' }],
  ['postgresql://u@h1,h2:2,h3/d', { endpoints: [tcp('h1'), tcp('h2', 2), tcp('h3')] } as Partial<Conninfo>],
  ['host=h1,h2 port=1,2 user=u', { endpoints: [tcp('h1', 1), tcp('h2', 2)] } as Partial<Conninfo>],
  ['host=h1,h2 port=7 user=u', { endpoints: [tcp('h1', 7), tcp('h2', 7)] } as Partial<Conninfo>],
  ['host=db.test hostaddr=127.0.0.1', { endpoints: [tcp('db.test', 5432, '127.0.0.1')] } as Partial<Conninfo>],
  ['hostaddr=10.0.0.1 user=u', { endpoints: [tcp(undefined, 5432, '10.0.0.1')] } as Partial<Conninfo>],
  ['postgresql://u@127.0.0.1/d', { endpoints: [tcp('127.0.0.1')] } as Partial<Conninfo>],
  [String.raw`host=h user='it\'s' password='a \\ b'  dbname = d`, { user: "it's", password: 'a \\ b', database: 'd' }],
  [String.raw`host=h user=two\ words password=it\'s`, { user: 'two words', password: "it's" }],
  [`host='h'user='u'password=''`, { user: 'u', password: undefined }],
  ['host=h user=u application_name=mine', { applicationName: 'mine' }],
  ['host=h user=u fallback_application_name=other', { applicationName: 'other' }],
  ['host=h user=u', { applicationName: 'refhir', connectTimeoutMs: 5_000, keepaliveMs: 10_000, options: undefined }],
  ['host=h connect_timeout=3 keepalives=0', { connectTimeoutMs: 3_000, keepaliveMs: undefined }],
  ['host=h connect_timeout=0 keepalives_idle=60', { connectTimeoutMs: 0, keepaliveMs: 60_000 }],
  ['postgresql://h?options=-c%20work_mem%3D8MB', { options: '-c work_mem=8MB' }],
  ['host=h target_session_attrs=read-write', { targetSessionAttrs: 'read-write' }],
  ['host=h channel_binding=prefer gssencmode=disable load_balance_hosts=disable', { channelBinding: true }],
]
for (const [text, expected] of READ)
  test(`${text} is read as libpq reads it`, () => {
    const conninfo = parse(text)
    for (const [name, value] of Object.entries(expected)) assert.equal(conninfo[name as keyof Conninfo], value, name)
  })

test('a connection string without sslmode means no TLS, and each mode is taken at its word', () => {
  assert.is(parse('host=h').tls.mode, 'disable')
  assert.is(parse('postgresql://h?ssl=true').tls.mode, 'require')
  const checks = (text: string) => [parse(text).tls.verifyChain, parse(text).tls.verifyName]
  assert.equal(checks('host=h sslmode=prefer'), [false, false])
  assert.equal(checks('host=h sslmode=require'), [false, false])
  assert.equal(checks('host=h sslmode=require sslrootcert=ca.pem'), [true, false])
  assert.equal(checks('host=h sslmode=verify-ca sslrootcert=ca.pem'), [true, false])
  assert.equal(checks('host=h sslmode=verify-full sslrootcert=ca.pem'), [true, true])
  assert.is(parse('host=h sslmode=verify-full sslrootcert=ca.pem sslnegotiation=direct').tls.direct, true)
})

// What is refused, and the words the message must hold.
const REFUSED: readonly (readonly [string, ...string[]])[] = [
  // Modes and files.
  ['host=h sslmode=verify-ca', 'verify-ca', 'sslrootcert'],
  ['host=h sslmode=verify-full', 'verify-full', 'sslrootcert'],
  ['host=h sslmode=verify-full sslrootcert=', 'sslrootcert'],
  ['host=h sslmode=verify-full sslrootcert=system', 'sslrootcert', 'trust store'],
  ['hostaddr=127.0.0.1 sslmode=verify-full sslrootcert=ca.pem', 'host', 'verify-full'],
  ['host=h sslmode=require sslcert=c.pem', 'sslcert', 'sslkey'],
  ['host=h sslmode=require sslkey=k.pem', 'sslkey', 'sslcert'],
  ['host=h sslmode=disable sslrootcert=ca.pem', 'sslrootcert', 'sslmode=disable'],
  ['host=h sslmode=disable sslcert=c.pem sslkey=k.pem', 'sslcert', 'sslmode=disable'],
  ['host=h sslrootcert=ca.pem', 'sslrootcert', 'without sslmode'],
  ['host=h sslcert=c.pem sslkey=k.pem', 'sslcert', 'without sslmode'],
  ['host=h sslmode=allow', 'sslmode', 'allow is not supported'],
  ['host=h sslmode=VERIFY-FULL sslrootcert=ca.pem', 'sslmode', 'lower case'],
  ['host=h sslmode=yes', 'sslmode'],
  ["host=h sslmode=''", 'sslmode'],
  ['host=h sslmode=require sslmode=verify-full', 'sslmode', 'twice'],
  ['postgresql://h?sslmode=require&sslmode=require', 'sslmode', 'twice'],
  ['postgresql://h?ssl=true&sslmode=require', 'sslmode', 'twice'],
  ['postgresql://u:hunter2@h?password=hunter2', 'password', 'twice'],
  ['postgresql://h1?host=h2', 'host', 'twice'],
  ['host=h sslcrl=crl.pem', 'sslcrl', 'not supported'],
  ['host=h ssl_min_protocol_version=TLSv1', 'ssl_min_protocol_version', 'not supported'],
  ['host=h gssencmode=require', 'gssencmode'],
  ['host=h channel_binding=require', 'channel_binding'],
  ['host=h require_auth=none', 'require_auth'],
  ['host=h service=db', 'service'],
  ['host=h passfile=/x', 'passfile'],
  ['host=h sslpassword=hunter2 sslmode=require', 'sslpassword'],
  ['host=h load_balance_hosts=random', 'load_balance_hosts'],
  ['host=h target_session_attrs=prefer-standby', 'target_session_attrs'],
  ['host=h client_encoding=LATIN1', 'client_encoding'],
  ['host=h sslmod=require', '"sslmod"'],
  ['postgresql://h?SSLMODE=require', 'not the name of a parameter'],
  ['postgresql://h?ssl=1', '"ssl"'],
  ['host=h constructor=1', '"constructor"'],
  ['host=h sslmode=disable sslnegotiation=direct', 'weak sslmode "disable"', 'sslnegotiation=direct'],
  ['host=h sslnegotiation=direct', 'weak sslmode'],
  ['host=h sslmode=prefer sslnegotiation=direct', 'weak sslmode "prefer" may not be used with sslnegotiation=direct'],
  ['host=h sslmode=require sslnegotiation=requiredirect', 'sslnegotiation'],
  // Hosts and ports.
  ...['192.000.002.001', '127.1', '0x7f.0.0.1', '2130706433', '127.0.0.1.', '0177.0.0.1', '1.2.3.4.5', '256.1.1.1'].map(
    (host) => [`host=${host}`, 'host', 'IPv4'] as const,
  ),
  ['postgresql://u@127.1/d', 'host', 'IPv4'],
  ['user=u', 'host'],
  ['postgresql:///d', 'host'],
  ['host=h1,,h3', 'host'],
  ['host=.db.test', 'host'],
  ['host=[::1]', 'host'],
  ['host=@abstract', 'host', 'abstract'],
  ['host=h hostaddr=db.test', 'hostaddr', 'address'],
  ['host=h hostaddr=127.1', 'hostaddr', 'address'],
  ['host=h1,h2 hostaddr=127.0.0.1', 'hostaddr'],
  ['host=h1,h2,h3 port=1,2', 'port'],
  ['host=h port=0', 'port'],
  ['host=h port=65536', 'port'],
  ['host=h port=5432x', 'port'],
  // Spelling.
  ['', 'host'],
  ['host=h user', 'no "="', 'character 8'],
  ["host=h user='u", 'quote', 'character 13'],
  ['postgresql://u@[::1', '"["'],
  ['postgresql://u@[]/d', 'IPv6'],
  ['postgresql://u@[::1]x/d', '"]"'],
  ['postgresql://u@h/d?sslmode', 'no "="'],
  ['postgresql://u@h/d?options=a=b', 'second "="'],
  ['postgresql://u%zz@h/d', 'user', '%25'],
  ['postgresql://u@h/d%00', 'dbname', '%00'],
  ['postgresql://u%ff@h/d', 'user', 'UTF-8'],
  ['host=h connect_timeout=soon', 'connect_timeout'],
  ['host=h keepalives=2', 'keepalives'],
]
for (const [text, ...words] of REFUSED)
  test(`${text || 'an empty string'} is refused at start, naming what is wrong`, () => {
    const message = refusalOf(text)
    for (const word of words) assert.ok(message.includes(word), `${message} lacks ${word}`)
  })

test('no refusal repeats a password, however the string is mistaken', () => {
  for (const text of [
    `postgresql://u:${SECRET}@h/d?nonsense=1`,
    `postgresql://u:12/${SECRET}@h/d`,
    `postgresql://u:${SECRET}/x@h/d`,
    `postgresql://u:x@${SECRET}@h/d`,
    `postgresql://u:%zz${SECRET}@h/d`,
    `host=h password='${SECRET}`,
    `host=h password=x ${SECRET} user=u`,
    `host=h password=x ${SECRET}! =u`,
    `host=h password=${SECRET} sslmode=nope`,
  ]) {
    try {
      const { endpoints } = parse(text)
      // libpq reads these as another host; the piece must at least not be taken for a host name that is shown.
      assert.not.ok(JSON.stringify(endpoints).includes(SECRET), text)
    } catch (error) {
      assert.not.ok(String((error as Error).message).includes(SECRET), text)
    }
  }
})

test('the password is in neither the printed nor the serialised form', async () => {
  const { inspect } = await import('node:util')
  const conninfo = parse(`postgresql://u:${SECRET}@h/d`)
  assert.is(conninfo.password, SECRET)
  assert.not.ok(inspect(conninfo, { depth: 9 }).includes(SECRET))
  assert.not.ok(JSON.stringify(conninfo).includes(SECRET))
})

test('without a user the account of the process is taken, as libpq does, and not PGUSER', () => {
  process.env.PGUSER = 'intruder'
  process.env.PGHOST = 'intruder.test'
  process.env.PGSSLMODE = 'require'
  try {
    assert.is(parse('host=h').user, 'daemon')
    assert.is(parse('host=h').tls.mode, 'disable')
    assert.match(refusalOf('user=u'), /host must be given/)
  } finally {
    for (const name of ['PGUSER', 'PGHOST', 'PGSSLMODE']) delete process.env[name]
  }
})

test.run()

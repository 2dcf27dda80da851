/** The files of examples/deploy name what exists: variables, settings, flags, and one another's addresses. */
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parse } from 'smol-toml'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { gatherFirstParty } from '../../cli/gather.ts'
import { variablesOf } from '../../kernel/settings/annotation.ts'
import { firstParty } from '../../plugins/index.ts'
import { readNginxMap } from '../support/read-nginx-map.ts'
import { createWorld } from '../support/world.ts'

const FOLDER = fileURLToPath(new URL('../../examples/deploy/', import.meta.url))
const read = (name: string): string => readFileSync(join(FOLDER, name), 'utf8')
const NGINX = read('nginx.conf')
const UNIT = read('refhir@.service')
const ROLES = ['primary', 'standby', 'replica'] as const

/** Lines `name=value`; comments have a line of their own, as systemd wants them. */
const assignmentsOf = (text: string): readonly (readonly [name: string, value: string])[] =>
  text
    .split('\n')
    .filter((line) => line !== '' && !/^[#;[]/.test(line))
    .map((line) => {
      const at = line.indexOf('=')
      assert.ok(at > 0, line)
      return [line.slice(0, at), line.slice(at + 1)] as const
    })
const environmentOf = (role: string): Readonly<Record<string, string>> =>
  Object.fromEntries([...assignmentsOf(read('secrets.env')), ...assignmentsOf(read(`${role}.env`))])
/** Values of a directive of the unit, in their order. */
const directive = (name: string): readonly string[] =>
  assignmentsOf(UNIT).flatMap(([key, value]) => (key === name ? [value] : []))
const SECRET = 'a secret of 48 characters, of the file secrets.e'
const filled = (environment: Readonly<Record<string, string>>): Record<string, string> =>
  Object.fromEntries(
    Object.entries(environment).map(([name, value]) => {
      if (name === 'SERVER_POSTGRES_URL') return [name, 'postgresql://fhir@db.example.org/fhir']
      return [name, value === '' ? SECRET : value]
    }),
  )
const configOf = (environment: Readonly<Record<string, string>>) => {
  const argv = ['config', '--config', join(FOLDER, 'server.toml')]
  const world = createWorld({ argv, environment, plugins: firstParty })
  return world.run().finally(() => world.remove())
}

test('every variable that a file sets is one of the server, of Node.js, or used by the unit', () => {
  const world = createWorld({ plugins: firstParty })
  const known = new Set(gatherFirstParty(world.world).settings.flatMap(({ schema }) => variablesOf(schema)))
  world.remove()
  const files = globSync('*.env', { cwd: FOLDER }).sort()
  assert.equal(files, ['primary.env', 'replica.env', 'secrets.env', 'standby.env'])
  const set = [
    ...directive('Environment').map((text) => text.split('=')[0] as string),
    ...files.flatMap((file) => assignmentsOf(read(file)).map(([name]) => name)),
  ]
  assert.equal(
    set.filter((name) => !known.has(name) && !UNIT.includes(`\${${name}}`)),
    ['NODE_COMPILE_CACHE'],
  )
  for (const [, name] of UNIT.matchAll(/\$\{(\w+)\}/g))
    for (const role of ROLES) assert.ok(environmentOf(role)[name as string], `${name} of ${role}`)
})

for (const role of ROLES)
  test(`the settings of the ${role} are accepted once its secrets are filled in, and an empty secret is refused by its name`, async () => {
    const environment = environmentOf(role)
    const { code, stdout, stderr } = await configOf(filled(environment))
    assert.is(code, 0, stderr)
    assert.match(stdout, new RegExp(`role\\s*=?\\s*"?${role}`))
    assert.not.match(stdout + stderr, SECRET)
    const refused = await configOf(environment)
    assert.is(refused.code, 2)
    assert.match(refused.stderr, 'SERVER_POSTGRES_URL')
  })

test('the unit starts a server again after 75 and not after 2 and leaves V8 its machine code', () => {
  assert.equal(directive('Restart'), ['on-failure'])
  assert.ok(directive('RestartForceExitStatus')[0]?.split(' ').includes('75'))
  assert.ok(directive('RestartPreventExitStatus')[0]?.split(' ').includes('2'))
  assert.equal(directive('MemoryDenyWriteExecute'), [])
  assert.equal(directive('ProtectProc'), [])
  assert.ok(Number(directive('TimeoutStopSec')[0]) > 10, 'a stop may take ten seconds')
  const [start = ''] = directive('ExecStart')
  assert.equal(
    [...start.matchAll(/ (--[\w-]+)/g)].map(([, flag]) => flag),
    ['--config', '--bind'],
  )
  assert.match(read('refhir.target'), /^WantedBy=multi-user\.target$/m)
  assert.match(UNIT, /^PartOf=refhir\.target$/m)
  assert.match(UNIT, /^WantedBy=refhir\.target$/m)
})

test('addresses are the same in all files', () => {
  const binds = ROLES.map((role) => environmentOf(role).REFHIR_BIND as string)
  const serversOf = (name: string): string[] => {
    const [, body = ''] = new RegExp(`upstream ${name} \\{([^}]*)\\}`).exec(NGINX) ?? []
    return [...body.matchAll(/server (\S+)/g)].map(([, address]) => address as string)
  }
  assert.equal(serversOf('refhir_writers'), binds.slice(0, 2))
  assert.equal(serversOf('refhir_readers'), [binds[2], binds[0], binds[1]])
  const writer = readNginxMap('refhir_writer')
  for (const [at, group] of ['refhir_first', 'refhir_second'].entries()) {
    assert.equal(serversOf(group), [binds[at]])
    // nginx lists the servers that it asked; the last one answered.
    assert.is(writer(`${binds[1 - at]}, ${binds[at]}`), group)
  }
  const [, inner = ''] = /listen (\S+:8079);/.exec(NGINX) ?? []
  assert.is(environmentOf('replica').SERVER_PRIMARY_URL, `http://${inner}`)
  const { server } = parse(read('server.toml')) as { server: { public_url: string; trusted_proxy_peers: string[] } }
  assert.equal(server.trusted_proxy_peers, [`${inner.split(':')[0]}/32`])
  assert.match(NGINX, `server_name ${new URL(server.public_url).host};`)
})

test('nginx takes bodies as large as the server does', () => {
  const sample = parse(readFileSync(new URL('../../examples/server.toml', import.meta.url), 'utf8')) as {
    fhir: { max_body_bytes: number }
  }
  assert.match(NGINX, `client_max_body_size ${sample.fhir.max_body_bytes / 1024 ** 2}m;`)
})

test('what a replica would only pass on goes to the primary at once, and what it answers itself goes there', () => {
  const goesTo = readNginxMap('refhir_servers')
  for (const [expected, requests] of Object.entries({
    readers: [
      ...['GET /Patient/1', 'HEAD /Patient/1', 'GET /Patient', 'GET /', 'GET /metadata', 'OPTIONS /Patient'],
      ...['POST /_search', 'POST /Patient/_search', 'POST /Patient/1/Observation/_search', 'GET /readyz'],
      ...['GET /.well-known/smart-configuration', 'GET /Patient/1/$everything', 'GET /_auditing', 'GET /AuditEvents'],
    ],
    writers: [
      ...[
        'POST /',
        'POST /Patient',
        'PUT /Patient/1',
        'PATCH /Patient/1',
        'DELETE /Patient/1',
        'POST /Patient/$validate',
      ],
      ...['GET /sync', 'POST /sync', 'GET /oauth/jwks', 'POST /oauth/token', 'GET /_audit', 'GET /_audit/verify'],
      ...[
        'GET /AuditEvent',
        'GET /AuditEvent/1',
        'GET /_usage',
        'GET /_requests',
        'GET /$export',
        'GET /Group/1/$export',
      ],
      ...['GET /export/1/2', 'DELETE /export/1', 'PUT /x/_search'],
    ],
  }))
    for (const request of requests) assert.is(goesTo(request), expected, request)
})

test.run()

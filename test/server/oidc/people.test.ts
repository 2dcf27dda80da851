/** Whom the settings let log in, and which resource of this server a person is. */
// database: sqlite, because claims are compared in the process; oidc/browser-login.test.ts is on each kind
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { type Claims, type FakeProvider, startFakeProvider } from '../../support/fake-provider.ts'
import { type LoginServer, loginServer, outcomeOf } from '../../support/provider-login.ts'
import { ISSUER, registerService, tokenOf } from '../../support/smart-server.ts'

const SYSTEM = 'https://hospital.example.org/employees'

let provider: FakeProvider
let all: LoginServer
let token: string

const put = async (path: string, resource: object): Promise<void> => {
  const [resourceType, id] = path.split('/')
  const answer = await all.server.inject({
    method: 'PUT',
    url: `/${path}`,
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/fhir+json' },
    payload: JSON.stringify({ resourceType, id, ...resource }),
  })
  assert.ok(answer.statusCode < 300, answer.body)
}
const identified = (value: string, system = SYSTEM) => ({ identifier: [{ system, value }] })

test.before(async () => {
  provider = await startFakeProvider()
  const lookup = { resource_type: 'Practitioner', claim: 'employee', system: SYSTEM }
  all = await loginServer(provider, { fhir_user_lookup: lookup })
  token = await tokenOf(all.server, await registerService(all.server))
  await put('Patient/p1', {})
  await put('Practitioner/d1', identified('one'))
  await put('Practitioner/d2', identified('two'))
  await put('Practitioner/d3', identified('two'))
  await put('Practitioner/d4', identified('one', 'https://other.example.org'))
})
test.before.each(() => provider.behave())
test.after(async () => {
  await all.server.stop()
  await provider.stop()
})

/** Outcomes of logins with these claims, on a server of its own with these settings. */
const outcomes = async (own: object, claims: readonly Claims[]): Promise<readonly string[]> => {
  const { server, go } = await loginServer(provider, own as Record<string, unknown>)
  const found: string[] = []
  for (const one of claims) {
    provider.behave({ claims: one })
    found.push(await outcomeOf(go()))
  }
  await server.stop()
  return found
}
const NO = 'login-refused'

test('allowed_claims lets in who has one of the values, as a string or in a list', async () => {
  const own = { allowed_claims: { groups: ['clinicians', 'nurses'], role: ['admin'] } }
  const claims = [
    { groups: 'clinicians' },
    { groups: ['x', 'nurses'] },
    { role: 'admin' },
    { groups: 'x', role: ['admin'] },
    { groups: 'Clinicians' },
    { groups: ['x', 'NURSES'] },
    { groups: 'clinicians nurses' },
    { groups: { clinicians: true } },
    { groups: [['clinicians']] },
    { role: 'clinicians' },
    {},
  ]
  assert.equal(await outcomes(own, claims), ['in', 'in', 'in', 'in', NO, NO, NO, NO, NO, NO, NO])
})

test('names of claims are not those of every object', async () => {
  const claims: readonly Claims[] = [{}, { constructor: 'x' } as Claims]
  assert.equal(await outcomes({ allowed_claims: { constructor: ['x'] } }, claims), [NO, 'in'])
})

test('allowed_email_domains lets in who has a verified address of exactly such a domain', async () => {
  const address = (email: unknown, email_verified: unknown = true) => ({ email, email_verified })
  const claims = [
    ...[address('a@good.org'), address('A@GOOD.ORG')],
    ...[address('a@sub.good.org'), address('a@evil.com@good.org'), address('a@good.org.evil.com')],
    ...[address('a@good.org', false), address('a@good.org', 'true'), { email: 'a@good.org' }],
    ...[
      address('good.org'),
      address('@good.org'),
      address('a@good.org\n'),
      address('a@good.org.'),
      address(['a@good.org']),
    ],
    ...[address('"a@x"@good.org'), address('a@ＧＯＯＤ.org'), address('b@notgood.org'), {}],
  ]
  const expected = claims.map((_, at) => (at < 2 ? 'in' : NO))
  assert.equal(await outcomes({ allowed_email_domains: ['Good.org'] }, claims), expected)
})

test('both settings have to be met where both are set', async () => {
  const own = { allowed_claims: { role: ['admin'] }, allowed_email_domains: ['good.org'] }
  const mail = { email: 'a@good.org', email_verified: true }
  assert.equal(await outcomes(own, [{ role: 'admin', ...mail }, { role: 'admin' }, mail]), ['in', NO, NO])
})

const userOf = async (claims: Claims, userinfo?: Claims): Promise<string | undefined> => {
  provider.behave({ claims, ...(userinfo !== undefined && { userinfo }) })
  return (await all.go().catch(() => ({ fhirUser: 'refused' }))).fhirUser
}

test('the claim names a person who is on this server, by a relative or an absolute reference', async () => {
  assert.is(await userOf({ fhirUser: 'Patient/p1' }), 'Patient/p1')
  assert.is(await userOf({ fhirUser: `${ISSUER}/Practitioner/d1` }), 'Practitioner/d1')
})

test('a claim that leads elsewhere, to no person or to nothing refuses the login', async () => {
  const claims = [
    'https://other.example.org/r4/Patient/p1',
    `${ISSUER}evil/Patient/p1`,
    `${ISSUER}//Patient/p1`,
    'Patient/../p1',
    'Patient/p1/_history/1',
    'Patient/p1\n',
    '/Patient/p1',
    'Device/1',
    'Patient/missing',
    'Patient/..',
    'Person/p1',
    'patient/p1',
    'Patient?_id=p1',
    '',
    7,
    ['Patient/p1'],
  ]
  for (const fhirUser of claims) assert.is(await userOf({ fhirUser, employee: 'one' }), 'refused', String(fhirUser))
})

test('without the claim a person is found by an identifier of the system, if exactly one resource has it', async () => {
  assert.is(await userOf({ employee: 'one' }), 'Practitioner/d1')
  for (const employee of ['zero', 'two', 'ONE', '', ' ', undefined, ['one'], 'one,two', '*', 'on', 'one '])
    assert.is(await userOf({ employee }), 'refused', String(employee))
})

test('an identifier is matched literally', async () => {
  const values = ['a|b', 'a,b', 'a$b', 'a\\b', '*', 'a&identifier=x', 'a%7Cb', '|', 'a\\,b', '7']
  for (const [at, value] of values.entries()) await put(`Practitioner/l${at}`, identified(value))
  for (const [at, employee] of values.entries()) assert.is(await userOf({ employee }), `Practitioner/l${at}`, employee)
  assert.is(await userOf({ employee: 7 }), 'Practitioner/l9')
})

test('claims that the ID token lacks are asked of the UserInfo endpoint, which must speak of the same person', async () => {
  assert.is(await userOf({}, { employee: 'one' }), 'Practitioner/d1')
  assert.is(await userOf({}, { fhirUser: 'Patient/p1' }), 'Patient/p1')
  assert.is(await userOf({ fhirUser: 'Patient/p1' }, { fhirUser: 'Practitioner/d1' }), 'Patient/p1')
  assert.is(await userOf({}, { employee: 'one', sub: 'other' }), 'refused')
})

test('without a lookup a person needs no resource', async () => {
  const { server, go } = await loginServer(provider)
  assert.is((await go()).fhirUser, undefined)
  await server.stop()
})

test.run()

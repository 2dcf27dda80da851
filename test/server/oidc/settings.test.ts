/** Settings of the login at a provider that do not fit together. */
// database: memory, nothing is stored here
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import database from '../../../plugins/database/index.ts'
import oidc from '../../../plugins/oidc/index.ts'
import smart from '../../../plugins/smart/index.ts'
import { fhirPlugins } from '../../support/fhir-plugins.ts'
import { kernelWith } from '../../support/kernel-with.ts'
import { smartSettings } from '../../support/smart-server.ts'
import { stubDefinitions } from '../../support/stub-definitions.ts'

const plugins = [database, stubDefinitions(), ...fhirPlugins, oidc, smart]
const right = { issuer: 'http://127.0.0.1:9', client_id: 'fhir-server' }
const settingsOf = (own: object, more: object = {}) => ({
  ...smartSettings({ oidc: own, ...more }),
  database: { kind: 'memory' },
})

test('settings that would make logins insecure or impossible stop the start', async () => {
  const cases: readonly (readonly [object, RegExp])[] = [
    [{ issuer: right.issuer }, /SERVER_OIDC_CLIENT_ID or --oidc-client-id/],
    [{ ...right, issuer: 'http://login.example.org' }, /is not an https URL/],
    [{ ...right, issuer: 'http://127.0.0.1.example.org' }, /is not an https URL/],
    [{ ...right, issuer: 'http://127.0.0.1:80@login.example.org' }, /is not an https URL/],
    [{ ...right, issuer: 'login.example.org' }, /takes an https URL/],
    [{ ...right, scopes: ['profile'] }, /lacks "openid"/],
    [{ ...right, allowed_claims: { role: [] } }, /allowed_claims/],
    [{ ...right, allowed_email_domains: ['@good.org'] }, /allowed_email_domains/],
    [{ ...right, fhir_user_lookup: { resource_type: 'Device', claim: 'c', system: 's' } }, /resource_type/],
    [{ ...right, fhir_user_lookup: { resource_type: 'Patient', claim: 'c' } }, /system is not set/],
    [{ ...right, fhir_user_lookup: { claim: 'c', system: 's' } }, /resource_type is not set/],
  ]
  for (const [own, about] of cases) {
    const refused = await kernelWith(plugins, { settings: settingsOf(own) }).then(
      () => 'not refused',
      (error: Error) => error.message,
    )
    assert.match(refused, about, JSON.stringify(own))
  }
})

test('without [smart] enabled a provider is not asked, and the log says so', async () => {
  const { kernel, lines } = await kernelWith(plugins, { settings: settingsOf(right, { enabled: false }) })
  await kernel.start()
  assert.ok(lines.some(({ level, msg }) => level === 'warn' && /issuer is not used/.test(String(msg))))
  assert.not.ok(lines.some(({ msg }) => /cannot be used yet/.test(String(msg))))
  await kernel.stop()
})

test.run()

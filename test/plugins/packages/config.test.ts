/** The package keys of [conformance]: defaults, all of them, each wrong once, and the variables they listen to. */
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { decode } from '../../../kernel/settings/decode.ts'
import { fromSources } from '../../../kernel/settings/layer.ts'
import { packageConformance } from '../../../plugins/packages/config.ts'

const sections = [{ plugin: 'packages', path: 'conformance', schema: packageConformance }]
const read = (sources: Parameters<typeof fromSources>[0]): Record<string, unknown> =>
  decode(sections, fromSources(sources).declare(sections)).section('conformance') as Record<string, unknown>
const fromFile = (conformance: Record<string, unknown>) => {
  const keys = Object.keys(conformance).map((key, at) => [`conformance.${key}`, at + 2] as const)
  return read({ file: { file: 'server.toml', values: { conformance }, lines: new Map([['conformance', 1], ...keys]) } })
}
const complaint = (work: () => unknown): string => {
  try {
    work()
  } catch (error) {
    return (error as Error).message
  }
  throw new Error('it was accepted')
}

test('an empty section means the public registry, the default packages and nothing more', () => {
  assert.equal(read({}), {
    package_registry: 'https://packages.fhir.org',
    packages: [],
    skip_default_packages: false,
    s3_region: 'us-east-1',
  })
})

test('a full section is taken as it is', () => {
  const full = {
    package_registry: 's3://bucket/some/prefix',
    package_cache: '/var/cache/packages',
    packages: ['test.guide@1.0.0', './guide', 'guide.tgz'],
    skip_default_packages: true,
    s3_endpoint: 'https://store.example.org:9000',
    s3_region: 'eu-central-1',
  }
  assert.equal(fromFile(full), full)
})

test('a repeated --package flag gives a list', () => {
  assert.equal(read({ flags: { package: ['a@1', './b'] } }).packages, ['a@1', './b'])
})

for (const [key, value] of [
  ['package_registry', 'packages.fhir.org'],
  ['package_registry', 's3://'],
  ['package_registry', 'file:///packages'],
  ['package_cache', ''],
  ['package_cache', 3],
  ['packages', 'test.guide@1.0.0'],
  ['packages', ['']],
  ['skip_default_packages', 'yes'],
  ['s3_endpoint', 'store.example.org'],
  ['s3_region', ''],
] as const)
  test(`conformance.${key} = ${JSON.stringify(value)} is refused by name`, () => {
    assert.match(
      complaint(() => fromFile({ [key]: value })),
      `server.toml:2: [conformance] ${key}`,
    )
  })

for (const key of ['s3_access_key_id', 's3_secret_access_key', 's3_session_token'])
  test(`conformance.${key} is refused in the file, and its value not repeated`, () => {
    const message = complaint(() => fromFile({ [key]: 'very-secret-value' }))
    assert.match(
      message,
      `server.toml:2: [conformance] ${key} is kept out of the file; set SERVER_${key.toUpperCase()}`,
    )
    assert.not.match(message, 'very-secret-value')
  })

for (const [name, key] of [
  ['SERVER_PACKAGE_REGISTRY', 'package_registry'],
  ['SERVER_PACKAGE_CACHE', 'package_cache'],
  ['SERVER_S3_ACCESS_KEY_ID', 's3_access_key_id'],
  ['SERVER_S3_SECRET_ACCESS_KEY', 's3_secret_access_key'],
  ['SERVER_S3_SESSION_TOKEN', 's3_session_token'],
  ['AWS_SESSION_TOKEN', 's3_session_token'],
  ['SERVER_S3_ENDPOINT', 's3_endpoint'],
  ['AWS_ENDPOINT_URL_S3', 's3_endpoint'],
  ['AWS_ENDPOINT_URL', 's3_endpoint'],
  ['SERVER_S3_REGION', 's3_region'],
  ['AWS_REGION', 's3_region'],
  ['AWS_DEFAULT_REGION', 's3_region'],
] as const)
  test(`${name} sets conformance.${key}`, () => {
    assert.is(read({ environment: { [name]: 'https://value.example.org' } })[key], 'https://value.example.org')
  })

test('a variable of ours goes before the provider’s', () => {
  const environment = {
    AWS_REGION: 'aws',
    SERVER_S3_REGION: 'ours',
    AWS_SESSION_TOKEN: 'aws',
    SERVER_S3_SESSION_TOKEN: 'ours',
  }
  const { s3_region, s3_session_token } = read({ environment })
  assert.equal([s3_region, s3_session_token], ['ours', 'ours'])
})

test('SERVER_SKIP_DEFAULT_PACKAGES takes 1 and true', () => {
  for (const value of ['1', 'true'])
    assert.is(read({ environment: { SERVER_SKIP_DEFAULT_PACKAGES: value } }).skip_default_packages, true)
})

test.run()

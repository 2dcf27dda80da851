/** Packages in an S3 bucket, against an endpoint that verifies every signature. */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { type BucketOptions, createS3Source } from '../../../plugins/packages/s3-source.ts'
import type { Download } from '../../../plugins/packages/source.ts'
import { startS3, type TestS3, type TestS3Options } from '../../support/s3.ts'
import { packageTgz } from '../../support/tgz.ts'

const KEYS = { accessKeyId: 'AKTEST', secretAccessKey: 'sk/test+secret', region: 'us-east-1' }
const { signal } = new AbortController()
const tgzOf = (version: string): Buffer => packageTgz({ name: 'test.pack', version })

const bytesOf = async (download: Download | undefined): Promise<Buffer> => {
  assert.ok(download, 'nothing is offered')
  const parts: Uint8Array[] = []
  for await (const part of download.bytes) parts.push(part)
  return Buffer.concat(parts)
}
const refusal = async (work: Promise<unknown>): Promise<string> => {
  try {
    await work
  } catch (error) {
    const { message } = error as Error
    assert.match((error as { key?: string }).key ?? `no key: ${message}`, /^packages\//)
    assert.not.match(message, /\n/)
    assert.not.match(message, KEYS.secretAccessKey)
    return message
  }
  throw new Error('it was not refused')
}

const bucketTest = suite('a bucket')
const stores: TestS3[] = []
const store = async (options: Partial<TestS3Options> = {}): Promise<TestS3> => {
  const started = await startS3({ ...KEYS, ...options })
  stores.push(started)
  return started
}
bucketTest.after.each(async () => {
  await Promise.all(stores.splice(0).map((one) => one.stop()))
})

const sourceAt = (s3: TestS3, options: Partial<BucketOptions> = {}, address = 's3://packages/fhir/r4/') =>
  createS3Source(address, { ...KEYS, sessionToken: undefined, endpoint: s3.endpoint, idleMs: 5000, ...options })

for (const file of ['test.pack/1.0.0.tgz', 'test.pack-1.0.0.tgz', 'test.pack#1.0.0.tgz'])
  bucketTest(`gives a version that lies at ${file} below the prefix`, async () => {
    const s3 = await store()
    s3.objects.set(`packages/fhir/r4/${file}`, tgzOf('1.0.0'))
    const download = await sourceAt(s3).open('test.pack', '1.0.0', signal)
    assert.equal(await bytesOf(download), tgzOf('1.0.0'))
    assert.is(download?.from, `s3://packages/fhir/r4/${file}`)
    assert.is(download?.size, tgzOf('1.0.0').length)
  })

bucketTest('needs no prefix', async () => {
  const s3 = await store()
  s3.objects.set('packages/test.pack/1.0.0.tgz', tgzOf('1.0.0'))
  for (const address of ['s3://packages', 's3://packages/'])
    assert.ok(await sourceAt(s3, {}, address).open('test.pack', '1.0.0', signal))
})

bucketTest(
  'resolves ranges over all layouts and many pages of the list, and knows names from longer ones',
  async () => {
    const s3 = await store({ pageSize: 2 })
    for (const file of [
      'test.pack/1.0.0.tgz',
      'test.pack-1.2.0.tgz',
      'test.pack#1.10.0.tgz',
      'test.pack/2.0.0-ballot.tgz',
      'test.pack.more/1.99.0.tgz',
      'test.pack/old/1.98.0.tgz',
      'test.pack/1.97.0.zip',
    ])
      s3.objects.set(`packages/fhir/r4/${file}`, tgzOf('1.0.0'))
    const source = sourceAt(s3)
    assert.is(await source.resolve('test.pack', '1.x', signal), '1.10.0')
    assert.is(await source.resolve('test.pack', 'latest', signal), '1.10.0')
    assert.is(await source.resolve('test.pack', '3.x', signal), undefined)
    assert.ok(s3.answers.length > 3)
  },
)

bucketTest('answers undefined for what is not there', async () => {
  const s3 = await store()
  s3.objects.set('packages/fhir/r4/test.pack/1.0.0.tgz', tgzOf('1.0.0'))
  assert.is(await sourceAt(s3).open('test.pack', '2.0.0', signal), undefined)
})

bucketTest(
  'is told AccessDenied of a missing object when it may not list, and understands after its first read',
  async () => {
    const s3 = await store({ mayList: false })
    s3.objects.set('packages/fhir/r4/test.pack-1.0.0.tgz', tgzOf('1.0.0'))
    const source = sourceAt(s3)
    assert.match(
      await refusal(source.open('test.pack', '2.0.0', signal)),
      'AccessDenied (HTTP 403): the access key may not',
    )
    assert.equal(await bytesOf(await source.open('test.pack', '1.0.0', signal)), tgzOf('1.0.0'))
    assert.is(await source.open('test.pack', '2.0.0', signal), undefined)
    assert.match(await refusal(source.resolve('test.pack', '1.x', signal)), 'may not read or list')
  },
)

const WRONG: readonly [string, Partial<BucketOptions>, Partial<TestS3Options>, string][] = [
  ['secret', { secretAccessKey: 'wrong' }, {}, 'SignatureDoesNotMatch (HTTP 403): SERVER_S3_SECRET_ACCESS_KEY'],
  ['access key', { accessKeyId: 'OTHER' }, {}, 'InvalidAccessKeyId (HTTP 403): the store does not know'],
  ['region', {}, { region: 'eu-central-1' }, 'AuthorizationHeaderMalformed (HTTP 400): SERVER_S3_REGION'],
  ['missing session token', {}, { sessionToken: 'tok' }, 'InvalidToken (HTTP 400): SERVER_S3_SESSION_TOKEN'],
  ['other session token', { sessionToken: 'old' }, { sessionToken: 'tok' }, 'InvalidToken (HTTP 400)'],
  ['session token where none belongs', { sessionToken: 'tok' }, {}, 'InvalidToken (HTTP 400)'],
]
for (const [what, options, server, words] of WRONG)
  bucketTest(`names a wrong setting: ${what}`, async () => {
    const s3 = await store(server)
    s3.objects.set('packages/fhir/r4/test.pack/1.0.0.tgz', tgzOf('1.0.0'))
    const message = await refusal(sourceAt(s3, options).open('test.pack', '1.0.0', signal))
    assert.match(message, `The package test.pack@1.0.0 cannot be fetched from s3://packages/fhir/r4 at ${s3.endpoint}`)
    assert.match(message, words)
    assert.match(await refusal(sourceAt(s3, options).resolve('test.pack', '1.x', signal)), words)
  })

bucketTest('signs for another region and with a session token', async () => {
  const s3 = await store({ region: 'eu-central-1', sessionToken: 'tok/en==' })
  s3.objects.set('packages/fhir/r4/test.pack/1.0.0.tgz', tgzOf('1.0.0'))
  const source = sourceAt(s3, { region: 'eu-central-1', sessionToken: 'tok/en==' })
  assert.equal(await bytesOf(await source.open('test.pack', '1.0.0', signal)), tgzOf('1.0.0'))
})

bucketTest('uses the credentials of the provider’s own variables when the settings give none', async () => {
  const s3 = await store({ sessionToken: 'tok' })
  s3.objects.set('packages/fhir/r4/test.pack/1.0.0.tgz', tgzOf('1.0.0'))
  const given = {
    AWS_ACCESS_KEY_ID: KEYS.accessKeyId,
    AWS_SECRET_ACCESS_KEY: KEYS.secretAccessKey,
    AWS_SESSION_TOKEN: 'tok',
  }
  const before = Object.fromEntries(Object.keys(given).map((name) => [name, process.env[name]]))
  Object.assign(process.env, given)
  try {
    const source = sourceAt(s3, { accessKeyId: undefined, secretAccessKey: undefined })
    assert.equal(await bytesOf(await source.open('test.pack', '1.0.0', signal)), tgzOf('1.0.0'))
  } finally {
    for (const [name, value] of Object.entries(before)) {
      if (value === undefined) delete process.env[name]
      else process.env[name] = value
    }
  }
})

bucketTest('names a bucket that is not there', async () => {
  const s3 = await store()
  const message = await refusal(sourceAt(s3).open('test.pack', '1.0.0', signal))
  assert.match(message, 'NoSuchBucket (HTTP 404): there is no such bucket')
})

bucketTest('says that nobody listens at the endpoint, and what to do', async () => {
  const s3 = await store()
  await s3.stop()
  const message = await refusal(sourceAt(s3).open('test.pack', '1.0.0', signal))
  assert.match(message, 'connection refused')
  assert.match(message, 'SERVER_PACKAGE_REGISTRY')
})

bucketTest('wants both keys or none, and a bucket', () => {
  const options = { ...KEYS, sessionToken: undefined, endpoint: undefined, idleMs: 5000 }
  assert.throws(
    () => createS3Source('s3://packages', { ...options, secretAccessKey: undefined }),
    /SERVER_S3_ACCESS_KEY_ID is set without SERVER_S3_SECRET_ACCESS_KEY/,
  )
  assert.throws(
    () => createS3Source('s3://packages', { ...options, accessKeyId: undefined }),
    /SERVER_S3_SECRET_ACCESS_KEY is set without SERVER_S3_ACCESS_KEY_ID/,
  )
  assert.throws(() => createS3Source('s3:///packages', options), /names no bucket/)
})

bucketTest.run()

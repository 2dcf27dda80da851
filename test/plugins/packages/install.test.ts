/** What a start installs, what it asks for, and what it leaves alone. */
import { appendFileSync, existsSync, readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { InstallStep } from '../../../plugins/packages/service.ts'
import { CORE, type PackagePlace, packagePlace, SDC } from '../../support/package-server.ts'
import { startS3 } from '../../support/s3.ts'
import { packageTgz, structure } from '../../support/tgz.ts'

const installTest = suite<{ place: PackagePlace }>('a start')
installTest.before.each(async (context) => {
  context.place = await packagePlace()
})
installTest.after.each(({ place }) => place.leave())

const BOTH = ['hl7.fhir.r4.core@4.0.1', 'hl7.fhir.uv.sdc@4.0.0']

installTest(
  'downloads the default packages, caches them next to the SQLite file, one line per package',
  async (context) => {
    const { place } = context
    place.publish(CORE, SDC)
    const server = await place.started()
    assert.equal(server.installed, BOTH)
    assert.equal(readdirSync(place.cache).toSorted(), [
      'hl7.fhir.r4.core#4.0.1.tgz',
      'hl7.fhir.r4.core#4.0.1.tgz.sha256',
      'hl7.fhir.uv.sdc#4.0.0.tgz',
      'hl7.fhir.uv.sdc#4.0.0.tgz.sha256',
    ])
    const told = server.lines.filter(({ msg }) => msg === 'installed a package')
    assert.equal(
      told.map(({ package: label, definitions, from }) => [label, definitions, from]),
      [
        [BOTH[0], 2, `${place.registry.url}/hl7.fhir.r4.core/4.0.1`],
        [BOTH[1], 1, `${place.registry.url}/hl7.fhir.uv.sdc/4.0.0`],
      ],
    )
    assert.equal(server.warnings, [])
  },
)

installTest('asks for nothing when all is in the database, and neither reads nor makes a cache', async ({ place }) => {
  place.publish(CORE, SDC)
  const first = await place.started()
  const { fingerprint } = first.definitions
  await first.stop()
  place.registry.requests.length = 0
  rmSync(place.cache, { recursive: true })
  const second = await place.started({ package_registry: 'http://127.0.0.1:1' })
  assert.equal(second.installed, BOTH)
  assert.is(second.definitions.fingerprint, fingerprint)
  assert.equal(place.registry.requests, [])
  assert.not.ok(existsSync(place.cache))
  assert.equal(second.steps, [])
})

installTest('fills a new database from the cache while the source is out of reach', async ({ place }) => {
  place.publish(CORE, SDC)
  await (await place.started()).stop()
  place.registry.requests.length = 0
  const server = await place.started(
    {
      package_cache: place.cache,
      package_registry: 'http://127.0.0.1:1',
    },
    { kind: 'memory' },
  )
  assert.equal(server.installed, BOTH)
  assert.equal(place.registry.requests, [])
})

installTest('fetches a package again whose cached file is damaged, and says so', async ({ place }) => {
  place.publish(CORE, SDC)
  await (await place.started()).stop()
  const damaged = join(place.cache, 'hl7.fhir.r4.core#4.0.1.tgz')
  appendFileSync(damaged, 'x')
  place.registry.requests.length = 0
  const server = await place.started({ package_cache: place.cache }, { kind: 'memory' })
  assert.equal(server.installed, BOTH)
  assert.equal(place.registry.requests, ['GET /hl7.fhir.r4.core', 'GET /hl7.fhir.r4.core/4.0.1'])
  assert.equal(server.warnings, ['a cached package is damaged; it is fetched again'])
  assert.ok(existsSync(damaged))
})

installTest('caches in .refhir/packages for a database in memory', async ({ place }) => {
  place.publish(CORE, SDC)
  const before = process.cwd()
  process.chdir(place.folder)
  try {
    await place.started({}, { kind: 'memory' })
  } finally {
    process.chdir(before)
  }
  assert.ok(existsSync(join(place.folder, '.refhir', 'packages', 'hl7.fhir.r4.core#4.0.1.tgz')))
})

installTest('skips the default packages when told to, and then knows nothing and asks nobody', async ({ place }) => {
  const server = await place.started({ skip_default_packages: true })
  assert.equal(server.installed, [])
  assert.equal(await server.definitions.all('StructureDefinition'), [])
  assert.is(
    await server.definitions.find('StructureDefinition', 'http://hl7.org/fhir/StructureDefinition/Patient'),
    undefined,
  )
  assert.equal(place.registry.requests, [])
  assert.not.ok(existsSync(place.cache))
})

installTest('is refused while the source is out of reach, in one line that says what to do', async ({ place }) => {
  await place.registry.stop()
  const message = await place.refused()
  assert.match(
    message,
    `The package hl7.fhir.r4.core@4.0.1 cannot be fetched from ${place.registry.url}: connection refused.`,
  )
  for (const advice of ['package_registry', 'SERVER_PACKAGE_REGISTRY', '--package', 'HTTPS_PROXY'])
    assert.match(message, advice)
  assert.not.match(message, /\n/)
})

installTest('is refused when a default or configured package is not at the source', async ({ place }) => {
  place.publish(CORE)
  assert.match(await place.refused(), `The package hl7.fhir.uv.sdc@4.0.0 is not at ${place.registry.url}.`)
  place.publish(SDC)
  assert.match(
    await place.refused({ packages: ['test.guide@1.2.3'] }),
    `The package test.guide@1.2.3 is not at ${place.registry.url}.`,
  )
})

installTest(
  'installs configured packages by version, by range and by name alone, and does not ask again',
  async ({ place }) => {
    place.publish(CORE, SDC)
    for (const version of ['1.0.0', '1.0.7', '1.1.0', '2.0.0'])
      for (const name of ['test.exact', 'test.range', 'test.tagged', 'test.latest']) place.publish({ name, version })
    const packages = ['test.exact@1.0.0', 'test.range@1.0.x', 'test.tagged#latest', 'test.latest']
    const server = await place.started({ packages })
    const expected = [...BOTH, 'test.exact@1.0.0', 'test.range@1.0.7', 'test.tagged@2.0.0', 'test.latest@2.0.0']
    assert.equal(server.installed, expected)
    await server.stop()
    place.registry.requests.length = 0
    const again = await place.started({ packages: [...packages, 'test.exact@1.1.0'] })
    assert.equal(again.installed, [...expected, 'test.exact@1.1.0'])
    assert.equal(place.registry.requests, ['GET /test.exact', 'GET /test.exact/1.1.0'])
  },
)

installTest('takes the best cached version of a range while the source is out of reach', async ({ place }) => {
  place.publish(CORE, SDC, { name: 'test.range', version: '1.0.7' }, { name: 'test.range', version: '1.0.8' })
  await (await place.started({ packages: ['test.range@1.0.7', 'test.range@1.0.8'] })).stop()
  await place.registry.stop()
  const server = await place.started({ package_cache: place.cache, packages: ['test.range@1.0.x'] }, { kind: 'memory' })
  assert.equal(server.installed, [...BOTH, 'test.range@1.0.8'])
  assert.equal(server.warnings, ['the package source is out of reach; using the cache'])
})

installTest('is "starting: installing packages" while it waits for the source', async ({ place }) => {
  place.publish(CORE, SDC)
  const server = await place.server()
  const asked = Promise.withResolvers<() => void>()
  place.registry.answer('/hl7.fhir.r4.core/4.0.1', (_, response) =>
    asked.resolve(() => response.writeHead(200).end(packageTgz(CORE))),
  )
  const starting = server.start()
  const goOn = await asked.promise
  assert.equal(await server.kernel.readiness(), { status: 'starting', reason: 'installing packages' })
  goOn()
  await starting
  assert.equal(await server.kernel.readiness(), { status: 'ok' })
})

installTest(
  'that is stopped in the middle of a download leaves nothing, and the next one is whole',
  async ({ place }) => {
    place.publish(CORE, SDC)
    const server = await place.server()
    const asked = Promise.withResolvers<void>()
    place.registry.answer('/hl7.fhir.uv.sdc/4.0.0', (_, response) => {
      response.writeHead(200).write(packageTgz(SDC).subarray(0, 40))
      asked.resolve()
    })
    const starting = server.start()
    await asked.promise
    const [answer] = await Promise.allSettled([starting, server.stop()])
    assert.is(answer.status, 'rejected')
    assert.equal(readdirSync(place.cache).toSorted(), [
      'hl7.fhir.r4.core#4.0.1.tgz',
      'hl7.fhir.r4.core#4.0.1.tgz.sha256',
    ])
    place.registry.serve('/hl7.fhir.uv.sdc/4.0.0', packageTgz(SDC), 'application/gzip')
    place.registry.requests.length = 0
    assert.equal((await place.started()).installed, BOTH)
    assert.equal(place.registry.requests, ['GET /hl7.fhir.uv.sdc', 'GET /hl7.fhir.uv.sdc/4.0.0'])
  },
)

installTest('tells those who watch what it is doing, and one who throws does not hinder it', async ({ place }) => {
  const files = Object.fromEntries(
    ['a', 'b', 'c'].map((id) => [`StructureDefinition-${id}.json`, structure(id, `http://example.org/${id}`)]),
  )
  place.publish({ name: 'test.guide', version: '1.0.0', files })
  const server = await place.server({ skip_default_packages: true, packages: ['test.guide@1.0.0'] })
  const { InstallProgress } = await import('../../../plugins/packages/service.ts')
  server.kernel.get(InstallProgress).watch(() => {
    throw new Error('a watcher of no use')
  })
  await server.start()
  const last = (step: InstallStep['step']): InstallStep | undefined => server.steps.findLast((one) => one.step === step)
  const size = packageTgz({ name: 'test.guide', version: '1.0.0', files }).length
  const from = `${place.registry.url}/test.guide/1.0.0`
  assert.equal(last('download'), { step: 'download', package: 'test.guide@1.0.0', from, received: size, total: size })
  assert.equal(last('read'), { step: 'read', package: 'test.guide@1.0.0', files: 4 })
  const { duration, ...installed } = last('installed') as InstallStep & { duration: number }
  assert.equal(installed, { step: 'installed', package: 'test.guide@1.0.0', from, definitions: 3 })
  assert.type(duration, 'number')
})

installTest('takes packages from a bucket with the keys of the settings', async ({ place }) => {
  const s3 = await startS3({
    accessKeyId: 'AKTEST',
    secretAccessKey: 'sk/secret',
    region: 'eu-west-7',
    sessionToken: 'tok',
  })
  try {
    s3.objects.set('fhir/mirror/hl7.fhir.r4.core/4.0.1.tgz', packageTgz(CORE))
    s3.objects.set('fhir/mirror/hl7.fhir.uv.sdc-4.0.0.tgz', packageTgz(SDC))
    const settings = {
      package_registry: 's3://fhir/mirror',
      s3_access_key_id: 'AKTEST',
      s3_secret_access_key: 'sk/secret',
      s3_session_token: 'tok',
      s3_endpoint: s3.endpoint,
      s3_region: 'eu-west-7',
    }
    const message = await place.refused({ ...settings, s3_secret_access_key: 'not-this-one' })
    assert.match(message, 'SignatureDoesNotMatch (HTTP 403): SERVER_S3_SECRET_ACCESS_KEY')
    assert.not.match(message, 'not-this-one')
    assert.equal((await place.started(settings)).installed, BOTH)
  } finally {
    await s3.stop()
  }
})

installTest('does not care that settings of the bucket are wrong when there is nothing to fetch', async ({ place }) => {
  place.publish(CORE, SDC)
  await (await place.started()).stop()
  const settings = { package_registry: 's3://fhir', s3_access_key_id: 'alone' }
  const server = await place.started(settings)
  assert.equal(server.installed, BOTH)
  await server.stop()
  assert.match(await place.refused({ ...settings, packages: ['test.more@1.0.0'] }), 'SERVER_S3_SECRET_ACCESS_KEY')
})

installTest.run()

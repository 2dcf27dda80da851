/** What packages depend on: what is fetched, what is left out, what is missed and what is refused. */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { CORE, type PackagePlace, packagePlace, SDC } from '../../support/package-server.ts'
import { packageTgz, type TestPackage } from '../../support/tgz.ts'

const dependencyTest = suite<{ place: PackagePlace }>('dependencies')
dependencyTest.before.each(async (context) => {
  context.place = await packagePlace()
  context.place.publish(CORE, SDC)
})
dependencyTest.after.each(({ place }) => place.leave())

const BOTH = ['hl7.fhir.r4.core@4.0.1', 'hl7.fhir.uv.sdc@4.0.0']
const pack = (
  label: string,
  dependencies: Record<string, string> = {},
  more: Partial<TestPackage> = {},
): TestPackage => {
  const [name = '', version = ''] = label.split('@')
  return { name, version, dependencies, ...more }
}
const BARE = { skip_default_packages: true }

dependencyTest('are installed before what depends on them, each once', async ({ place }) => {
  place.publish(
    pack('test.top@1.0.0', { 'test.left': '1.0.0', 'test.right': '1.0.0' }),
    pack('test.left@1.0.0', { 'test.bottom': '1.0.0' }),
    pack('test.right@1.0.0', { 'test.bottom': '1.x', 'hl7.fhir.r4.core': '4.0.1' }),
    pack('test.bottom@1.0.0'),
  )
  const server = await place.started({ packages: ['test.top@1.0.0'] })
  assert.equal(server.installed, [
    ...BOTH,
    'test.bottom@1.0.0',
    'test.left@1.0.0',
    'test.right@1.0.0',
    'test.top@1.0.0',
  ])
  assert.is(place.registry.requests.filter((request) => request === 'GET /test.bottom/1.0.0').length, 1)
})

dependencyTest('bring the core package in when the defaults are skipped', async ({ place }) => {
  place.publish(pack('test.guide@1.0.0', { 'hl7.fhir.core': '4.0.1' }))
  const server = await place.started({ ...BARE, packages: ['test.guide@1.0.0'] })
  assert.equal(server.installed, ['hl7.fhir.r4.core@4.0.1', 'test.guide@1.0.0'])
})

dependencyTest(
  'that a mirror of core and SDC alone does not hold are warned of by name, once and for all',
  async ({ place }) => {
    const dependencies = {
      'hl7.fhir.r4.core': '4.0.1',
      'hl7.terminology.r4': '6.1.0',
      'hl7.fhir.r4.examples': '4.0.1',
      'hl7.fhir.uv.tools.r4': '0.8.0',
      'hl7.fhir.uv.xver-r5.r4': '0.1.0',
    }
    place.publish({ ...SDC, dependencies })
    const server = await place.started()
    assert.equal(server.installed, BOTH)
    assert.equal(server.warnings, [
      `without hl7.terminology.r4@6.1.0, which hl7.fhir.uv.sdc@4.0.0 depends on: it is not at ${place.registry.url}`,
      `without hl7.fhir.uv.xver-r5.r4@0.1.0, which hl7.fhir.uv.sdc@4.0.0 depends on: it is not at ${place.registry.url}`,
    ])
    for (const unasked of ['hl7.fhir.r4.examples', 'hl7.fhir.uv.tools.r4'])
      assert.not.ok(
        place.registry.requests.some((request) => request.includes(unasked)),
        unasked,
      )
    await server.stop()
    place.registry.requests.length = 0
    const again = await place.started()
    assert.equal(again.warnings, [])
    assert.equal(place.registry.requests, [])
  },
)

dependencyTest('of examples, tooling and other forms of the core are not asked for', async ({ place }) => {
  const names = [
    'hl7.fhir.r4.examples',
    'hl7.fhir.us.core.examples',
    'hl7.fhir.uv.tools',
    'hl7.fhir.uv.tools.r4',
    'hl7.fhir.r4.expansions',
    'hl7.fhir.r4.corexml',
    'hl7.fhir.r4.search',
  ]
  place.publish(pack('test.guide@1.0.0', Object.fromEntries(names.map((name) => [name, '4.0.1']))))
  await place.started({ ...BARE, packages: ['test.guide@1.0.0'] })
  assert.equal(place.registry.requests, ['GET /test.guide', 'GET /test.guide/1.0.0'])
})

dependencyTest('that are examples by their package.json, or for another release, are left out', async ({ place }) => {
  place.publish(
    pack('test.guide@1.0.0', {
      'test.samples': '1.0.0',
      'test.r5': '1.0.0',
      'hl7.fhir.r5.core': '5.0.0',
      'hl7.fhir.core': '3.0.2',
    }),
    pack('test.samples@1.0.0', {}, { type: 'fhir.examples' }),
    pack('test.r5@1.0.0', {}, { fhirVersions: ['5.0.0'] }),
  )
  const server = await place.started({ ...BARE, packages: ['test.guide@1.0.0'] })
  assert.equal(server.installed, ['test.guide@1.0.0'])
  assert.is(server.warnings.length, 2)
  assert.not.ok(place.registry.requests.some((request) => request.includes('core')))
})

dependencyTest(
  'are content with a later version that is there, and get a later one when an earlier is',
  async ({ place }) => {
    place.publish(
      pack('test.terms@5.0.0'),
      pack('test.terms@6.1.0'),
      pack('test.terms@6.2.0'),
      pack('test.one@1.0.0', { 'test.terms': '6.1.0' }),
      pack('test.two@1.0.0', { 'test.terms': '5.0.0' }),
      pack('test.three@1.0.0', { 'test.terms': '6.2.0' }),
    )
    const server = await place.started({ ...BARE, packages: ['test.one', 'test.two', 'test.three'] })
    assert.equal(server.installed, [
      'test.terms@6.1.0',
      'test.one@1.0.0',
      'test.two@1.0.0',
      'test.terms@6.2.0',
      'test.three@1.0.0',
    ])
  },
)

dependencyTest('that no registry can hold are warned of and not asked for', async ({ place }) => {
  const dependencies = { 'test.git': 'git+https://example.org/x.git', '../../x': '1.0.0', 'test.ci': 'current' }
  place.publish(pack('test.guide@1.0.0', dependencies))
  const server = await place.started({ ...BARE, packages: ['test.guide@1.0.0'] })
  assert.equal(server.installed, ['test.guide@1.0.0'])
  assert.is(server.warnings.length, 3)
  assert.equal(place.registry.requests, ['GET /test.guide', 'GET /test.guide/1.0.0', 'GET /test.ci'])
})

dependencyTest('that the source hands to nobody, or cannot send, are warned of with the reason', async ({ place }) => {
  place.publish(pack('test.guide@1.0.0', { 'test.private': '1.0.0', 'test.down': '1.0.0', 'test.also': '1.0.0' }))
  place.registry.answer('/test.private', (_, response) => response.writeHead(403).end())
  place.registry.answer('/test.down', (_, response) => response.destroy())
  const server = await place.started({ ...BARE, packages: ['test.guide@1.0.0'] })
  const [denied, broken, silent] = server.warnings
  assert.match(denied ?? '', 'it answered HTTP 403')
  assert.match(broken ?? '', 'the connection was closed too early')
  assert.match(silent ?? '', 'it did not answer before')
  assert.not.ok(place.registry.requests.includes('GET /test.also'))
})

dependencyTest('on the core package are not optional', async ({ place }) => {
  place.publish(pack('test.guide@1.0.0', { 'hl7.fhir.r4.core': '4.0.9' }))
  const message = await place.refused({ ...BARE, packages: ['test.guide@1.0.0'] })
  assert.match(message, `The package hl7.fhir.r4.core@4.0.9 is not at ${place.registry.url}`)
})

for (const [what, packs, way] of [
  ['itself', [pack('test.a@1.0.0', { 'test.a': '1.0.0' })], 'test.a@1.0.0 → test.a@1.0.0'],
  [
    'itself through others',
    [
      pack('test.a@1.0.0', { 'test.b': '1.0.0' }),
      pack('test.b@1.0.0', { 'test.c': '1.x' }),
      pack('test.c@1.0.0', { 'test.a': '1.0.x' }),
    ],
    'test.a@1.0.0 → test.b@1.0.0 → test.c@1.0.0 → test.a@1.0.0',
  ],
  [
    'a ring further down',
    [
      pack('test.a@1.0.0', { 'test.b': '1.0.0' }),
      pack('test.b@1.0.0', { 'test.c': '1.0.0' }),
      pack('test.c@1.0.0', { 'test.b': '1.0.0' }),
    ],
    'test.b@1.0.0 → test.c@1.0.0 → test.b@1.0.0',
  ],
] as const)
  dependencyTest(`refuse a start with a package that depends on ${what}, naming the way`, async ({ place }) => {
    place.publish(...packs)
    const message = await place.refused({ ...BARE, packages: ['test.a@1.0.0'] })
    assert.match(message, `depends on itself: ${way}.`)
    assert.not.match(message, /\n/)
    assert.equal((await place.started(BARE)).installed, [])
  })

dependencyTest('on an earlier version of what is being installed are no circle', async ({ place }) => {
  place.publish(
    pack('test.terms@2.0.0', { 'test.extensions': '2.0.0' }),
    pack('test.extensions@2.0.0', { 'test.terms': '1.0.0' }),
  )
  const server = await place.started({ ...BARE, packages: ['test.terms@2.0.0'] })
  assert.equal(server.installed, ['test.extensions@2.0.0', 'test.terms@2.0.0'])
})

dependencyTest('that are wrong refuse the start as any other package', async ({ place }) => {
  place.publish(pack('test.guide@1.0.0', { 'test.wrong': '1.0.0' }))
  const tgz = packageTgz(pack('test.wrong@1.0.0'))
  place.registry.publish({ name: 'test.wrong', version: '1.0.0', tgz, dist: { shasum: '0'.repeat(40) } })
  assert.match(await place.refused({ ...BARE, packages: ['test.guide@1.0.0'] }), 'test.wrong@1.0.0 from')
})

dependencyTest.run()

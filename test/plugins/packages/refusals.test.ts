/** Packages that are not what they should be: the start is refused, the cache is not poisoned, and a good one follows. */
import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { type PackagePlace, packagePlace } from '../../support/package-server.ts'
import type { Published } from '../../support/registry.ts'
import { packageEntries, packageTgz, structure, type TarEntry, type TestPackage, tgz } from '../../support/tgz.ts'

const refusalTest = suite<{ place: PackagePlace }>('a refused package')
refusalTest.before.each(async (context) => {
  context.place = await packagePlace()
})
refusalTest.after.each(({ place }) => place.leave())

const GUIDE: TestPackage = {
  name: 'test.guide',
  version: '1.0.0',
  files: { 'StructureDefinition-one.json': structure('one', 'http://example.org/one') },
}
const GOOD: Published = { name: 'test.guide', version: '1.0.0', tgz: packageTgz(GUIDE) }
const ENTRIES = packageEntries(GUIDE)
const WANTED = { skip_default_packages: true, packages: ['test.guide@1.0.0'] }

const withEntries = (...more: TarEntry[]): Published => ({ ...GOOD, tgz: tgz([...ENTRIES, ...more]) })
const withManifest = (text: string): Published => ({
  ...GOOD,
  tgz: tgz([{ name: 'package/package.json', body: text }]),
})

const CASES: readonly [string, Published, RegExp][] = [
  ['without package.json', { ...GOOD, tgz: tgz(ENTRIES.slice(1)) }, /it holds no package\.json/],
  [
    'with package.json in another folder',
    { ...GOOD, tgz: tgz([{ ...ENTRIES[0]!, name: 'other/package.json' }]) },
    /holds no package\.json/,
  ],
  ['whose package.json is not JSON', withManifest('{"name"'), /its package\.json is not JSON/],
  ['whose package.json is a list', withManifest('[]'), /its package\.json is not an object/],
  ['whose package.json has no name', withManifest('{"version":"1.0.0"}'), /its package\.json has no name/],
  ['whose package.json has a path for a name', withManifest('{"name":"../x","version":"1.0.0"}'), /has no name that/],
  ['whose package.json has no version', withManifest('{"name":"test.guide"}'), /its package\.json has no version/],
  [
    'with another name',
    { ...GOOD, tgz: packageTgz({ ...GUIDE, name: 'test.other' }) },
    /says that it is test\.other@1\.0\.0/,
  ],
  [
    'with another version',
    { ...GOOD, tgz: packageTgz({ ...GUIDE, version: '1.0.1' }) },
    /says that it is test\.guide@1\.0\.1/,
  ],
  [
    'whose shasum is wrong',
    { ...GOOD, dist: { shasum: '0'.repeat(40), integrity: undefined } },
    /its sha1 is \w{40} and the registry promised 0{40}/,
  ],
  [
    'whose integrity is wrong',
    { ...GOOD, dist: { integrity: `sha512-${'A'.repeat(86)}==` } },
    /its sha512 is \w{128} and the registry promised 0{128}/,
  ],
  [
    'that is a web page',
    { ...GOOD, tgz: Buffer.from('<!doctype html>Sign in'), dist: { integrity: undefined } },
    /instead of a package/,
  ],
  ['that is cut short', { ...GOOD, tgz: GOOD.tgz.subarray(0, 100) }, /it is cut short/],
  [
    'with a definition that is not JSON',
    withEntries({ name: 'package/ValueSet-x.json', body: '{"a":' }),
    /its entry "ValueSet-x\.json" is not JSON/,
  ],
  [
    'with a definition that is not UTF-8',
    withEntries({ name: 'package/ValueSet-x.json', body: Buffer.from([0x22, 0xff, 0x22]) }),
    /is not UTF-8/,
  ],
  [
    'with an entry that leads out',
    withEntries({ name: '../../out', body: 'x' }),
    /its entry "\.\.\/\.\.\/out" points outside the package/,
  ],
  [
    'with a symbolic link',
    withEntries({ name: 'package/l', flag: '2', linkname: '/' }),
    /its entry "package\/l" is a symbolic link/,
  ],
  ['with a hard link', withEntries({ name: 'package/l', flag: '1', linkname: '/etc/passwd' }), /is a hard link/],
  ['with a device', withEntries({ name: 'package/d', flag: '3' }), /is a device/],
  ['with a setuid file', withEntries({ name: 'package/s', mode: 0o4755, body: 'x' }), /is setuid/],
  [
    'for another FHIR release',
    { ...GOOD, tgz: packageTgz({ ...GUIDE, fhirVersions: ['5.0.0'] }) },
    /test\.guide@1\.0\.0 is for FHIR 5\.0\.0 and this server runs FHIR R4/,
  ],
]
for (const [what, published, words] of CASES)
  refusalTest(`${what} stops the start in one line, and a good one in its place is installed`, async ({ place }) => {
    place.registry.publish(published)
    const message = await place.refused(WANTED)
    assert.match(message, words)
    assert.match(message, /^The plugin "packages" cannot start: The package test\.guide@1\.0\.0 /)
    assert.not.match(message, /\n/)
    const kept = existsSync(place.cache) ? readdirSync(place.cache) : []
    // A package for another release is sound; only this server has no use for it.
    if (!/FHIR R4/.test(message)) assert.equal(kept, [])
    assert.equal(
      readdirSync(join(place.folder, '..')).filter((name) => name === 'out'),
      [],
    )
    const strangers = readdirSync(place.folder).filter((name) => !/^(test\.sqlite|package-cache)/.test(name))
    assert.equal(strangers, [])
    if (/FHIR R4/.test(message)) return
    place.registry.publish(GOOD)
    const server = await place.started(WANTED)
    assert.equal(server.installed, ['test.guide@1.0.0'])
    assert.equal(
      (await server.definitions.all('StructureDefinition')).map(({ id }) => id),
      ['one'],
    )
  })

refusalTest('leaves those before it whole, and the next start goes on from there', async ({ place }) => {
  const first = { name: 'test.first', version: '1.0.0', files: GUIDE.files ?? {} }
  place.publish(first)
  place.registry.publish(withEntries({ name: 'package/l', flag: '2', linkname: '/' }))
  const packages = ['test.first@1.0.0', 'test.guide@1.0.0']
  await place.refused({ skip_default_packages: true, packages })
  const server = await place.started({ skip_default_packages: true })
  assert.equal(server.installed, ['test.first@1.0.0'])
  await server.stop()
  place.registry.publish(GOOD)
  place.registry.requests.length = 0
  assert.equal((await place.started({ skip_default_packages: true, packages })).installed, packages)
  assert.equal(place.registry.requests, ['GET /test.guide', 'GET /test.guide/1.0.0'])
})

refusalTest('in a list that is a web page is named', async ({ place }) => {
  place.registry.serve('/test.guide', '<html>Please sign in</html>', 'text/html')
  assert.match(await place.refused(WANTED), `from ${place.registry.url}/test.guide: it answered a web page (HTML)`)
})

refusalTest.run()

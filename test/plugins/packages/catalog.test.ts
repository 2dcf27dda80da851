/** The Definitions service: which definition answers for a URL, and when the set has changed. */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { Database } from '../../../plugins/database/service.ts'
import type { Definitions } from '../../../plugins/packages/service.ts'
import { createTables } from '../../../plugins/packages/tables.ts'
import { postgresKind } from '../../support/database-kinds.ts'
import { type PackagePlace, type PackageServer, packagePlace } from '../../support/package-server.ts'
import type { TestPackage } from '../../support/tgz.ts'

const catalogTest = suite<{ place: PackagePlace }>('the definitions')
catalogTest.before.each(async (context) => {
  context.place = await packagePlace()
})
catalogTest.after.each(({ place }) => place.leave())

const URL_A = 'http://example.org/ValueSet/a'
const valueSet = (id: string, url: string, version: string | undefined, title: string): object => ({
  resourceType: 'ValueSet',
  id,
  url,
  ...(version === undefined ? {} : { version }),
  title,
})
const pack = (label: string, ...sets: object[]): TestPackage => {
  const [name = '', version = ''] = label.split('@')
  return { name, version, files: Object.fromEntries(sets.map((set, index) => [`ValueSet-${index}.json`, set])) }
}
const started = async (place: PackagePlace, ...packs: TestPackage[]): Promise<Definitions> => {
  place.publish(...packs)
  const packages = packs.map(({ name, version }) => `${name}@${version}`)
  return (await place.started({ skip_default_packages: true, packages })).definitions
}
const titleOf = (found: { json: string } | undefined): string | undefined =>
  found === undefined ? undefined : (JSON.parse(found.json) as { title: string }).title

catalogTest('give the exact text of the file, with its package, id, url and version', async ({ place }) => {
  const json = `{ "resourceType" : "ValueSet",\r\n\t"id":"a", "url":"${URL_A}","version":"1", "title":"a","x":1.00, "y":"é" }\n`
  place.publish({ name: 'test.one', version: '1.0.0', files: { 'ValueSet-a.json': json } })
  const { definitions } = await place.started({ skip_default_packages: true, packages: ['test.one'] })
  const expected = { package: 'test.one@1.0.0', type: 'ValueSet', id: 'a', url: URL_A, version: '1', json }
  assert.equal(await definitions.find('ValueSet', URL_A), expected)
  assert.equal(await definitions.all('ValueSet'), [expected])
  assert.equal(await definitions.all('CodeSystem'), [])
  assert.is(await definitions.find('CodeSystem', URL_A), undefined)
})

catalogTest('of one package’s versions the highest answers, whatever came first', async ({ place }) => {
  const definitions = await started(
    place,
    pack('test.one@1.10.0', valueSet('a', URL_A, '1.10.0', 'ten')),
    pack('test.one@1.9.0', valueSet('a', URL_A, '1.9.0', 'nine')),
  )
  assert.is(titleOf(await definitions.find('ValueSet', URL_A)), 'ten')
  assert.is(titleOf(await definitions.find('ValueSet', URL_A, '1.9.0')), 'nine')
  assert.is(await definitions.find('ValueSet', URL_A, '1.8.0'), undefined)
  assert.equal((await definitions.all('ValueSet')).map(titleOf), ['nine', 'ten'])
})

catalogTest('of several packages the one installed last answers', async ({ place }) => {
  const definitions = await started(
    place,
    pack('test.core@1.0.0', valueSet('a', URL_A, '2018-08-12', 'old')),
    pack('test.terms@1.0.0', valueSet('a', URL_A, '3.0.0', 'new')),
  )
  assert.is(titleOf(await definitions.find('ValueSet', URL_A)), 'new')
  assert.is(titleOf(await definitions.find('ValueSet', URL_A, '2018-08-12')), 'old')
})

catalogTest('that several packages hold under one URL and version are given once, from the last', async ({ place }) => {
  const definitions = await started(
    place,
    pack(
      'test.one@1.0.0',
      valueSet('a', URL_A, '1', 'first'),
      valueSet('n', 'http://example.org/n', undefined, 'none'),
    ),
    pack('test.two@1.0.0', valueSet('b', URL_A, '2', 'second')),
    pack(
      'test.three@1.0.0',
      valueSet('c', URL_A, '1', 'third'),
      valueSet('m', 'http://example.org/n', undefined, 'more'),
    ),
  )
  assert.equal((await definitions.all('ValueSet')).map(titleOf), ['second', 'third', 'more'])
  assert.is(titleOf(await definitions.find('ValueSet', URL_A)), 'third')
  assert.is(titleOf(await definitions.find('ValueSet', URL_A, '1')), 'third')
  // What a Map by URL ends with is what find answers.
  const byUrl = new Map((await definitions.all('ValueSet')).map((one) => [one.url, titleOf(one)]))
  for (const [url, title] of byUrl) assert.is(titleOf(await definitions.find('ValueSet', url!)), title)
})

catalogTest('without a URL are told apart by their id', async ({ place }) => {
  const naming = (id: string, title: string): object => ({ resourceType: 'NamingSystem', id, title })
  const definitions = await started(
    place,
    { name: 'test.one', version: '1.0.0', files: { 'a.json': naming('a', 'a'), 'b.json': naming('b', 'b') } },
    { name: 'test.two', version: '1.0.0', files: { 'a.json': naming('a', 'a again') } },
  )
  assert.equal((await definitions.all('NamingSystem')).map(titleOf), ['b', 'a again'])
})

catalogTest('that are twice in a package count once, the first', async ({ place }) => {
  const definitions = await started(
    place,
    pack('test.one@1.0.0', valueSet('a', URL_A, '1', 'first'), valueSet('a', URL_A, '2', 'second')),
  )
  assert.equal((await definitions.all('ValueSet')).map(titleOf), ['first'])
})

catalogTest('have a fingerprint that changes with what is installed and with nothing else', async ({ place }) => {
  const one = pack('test.one@1.0.0', valueSet('a', URL_A, '1', 'first'))
  place.publish(one, pack('test.two@1.0.0'))
  const start = async (...packages: string[]): Promise<string> => {
    const server = await place.started({ skip_default_packages: true, packages })
    const { fingerprint } = server.definitions
    await server.stop()
    return fingerprint
  }
  const empty = await start()
  const first = await start('test.one@1.0.0')
  assert.is.not(first, empty)
  assert.is(await start(), first)
  assert.is.not(await start('test.two@1.0.0'), first)
})

catalogTest(
  'that another process installed are seen after refresh, or when a row of theirs turns up',
  async ({ place }) => {
    const shared = await postgresKind.fresh()
    const start = (...packs: TestPackage[]): Promise<PackageServer> => {
      place.publish(...packs)
      const packages = packs.map(({ name, version }) => `${name}@${version}`)
      const at = shared.settings.database as Record<string, unknown>
      return place.started({ skip_default_packages: true, packages }, at)
    }
    const { definitions: reader } = await start(pack('test.one@1.0.0', valueSet('a', URL_A, '1', 'first')))
    assert.is(await reader.refresh(), false)
    const writer = await start(pack('test.two@1.0.0', valueSet('b', URL_A, '2', 'second')))
    assert.is(titleOf(await reader.find('ValueSet', URL_A)), 'second')
    assert.is((await reader.find('ValueSet', URL_A))?.package, 'test.two@1.0.0')
    await writer.stop()
    await start(pack('test.three@1.0.0'))
    assert.is(await reader.refresh(), true)
    assert.equal(
      reader.packages.map(({ name }) => name),
      ['test.one', 'test.two', 'test.three'],
    )
  },
)

catalogTest(
  'are there whole or not at all: a package that fails half-way leaves what was before',
  async ({ place }) => {
    const server = await place.server({ skip_default_packages: true })
    await server.start()
    const tables = createTables(server.kernel.get(Database))
    const row = {
      name: 'test.one',
      version: '1.0.0',
      source: 'here',
      sha: '1',
      stamp: undefined,
      standsFor: undefined,
      missing: ['test.gone@1.0.0'],
      installedAt: 1_700_000_000_000,
    }
    const definition = { type: 'ValueSet', id: 'a', url: URL_A, version: '1', body: new Uint8Array([1]) }
    await tables.install(row, [definition])
    // The same id twice breaks the index after the old rows are gone and the first new one is there.
    const twice = [{ ...definition, body: new Uint8Array([2]) }, definition]
    try {
      await tables.install({ ...row, sha: '2' }, twice)
      assert.unreachable()
    } catch (error) {
      assert.match((error as Error).message, /UNIQUE/)
    }
    assert.equal(await tables.packages(), [{ ...row, seq: 1, definitions: 1 }])
    assert.equal(
      [...(await tables.all('ValueSet'))].map(({ body }) => [...body]),
      [[1]],
    )
  },
)

catalogTest.run()

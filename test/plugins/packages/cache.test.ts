/** The on-disk cache: what gets a name, what is believed, what is left when something fails. */
import { createHash } from 'node:crypto'
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { systemClock } from '../../../kernel/clock.ts'
import { createPackageCache, type PackageCache } from '../../../plugins/packages/cache.ts'
import type { Download } from '../../../plugins/packages/source.ts'
import { temporaryFolder } from '../../support/database-kinds.ts'

const BYTES = Buffer.from('the bytes of a package')
const SHA = createHash('sha256').update(BYTES).digest('hex')
const NOW = Date.now()

interface Context {
  folder: ReturnType<typeof temporaryFolder>
  place: string
  cache: PackageCache
  damaged: string[]
}
const cacheTest = suite<Context>('the package cache')
cacheTest.before.each((context) => {
  context.folder = temporaryFolder()
  context.place = join(context.folder.path, 'deep', 'cache')
  context.damaged = []
  let ids = 0
  context.cache = createPackageCache({
    path: context.place,
    clock: { ...systemClock, now: () => NOW },
    random: {
      id: () => {
        ids += 1
        return `id-${ids}`
      },
    },
    onDamaged: (path) => context.damaged.push(path),
  })
})
cacheTest.after.each(({ folder }) => folder.remove())

const download = (bytes: Buffer = BYTES, hashes: Download['hashes'] = []): Download => ({
  from: 'http://127.0.0.1/test.pack/1.0.0',
  size: bytes.length,
  hashes,
  bytes: (async function* () {
    yield bytes.subarray(0, 5)
    yield bytes.subarray(5)
  })(),
})
const keep = (cache: PackageCache, given = download(), check: () => Promise<string> = async () => 'fine') =>
  cache.keep(given, 'test.pack', '1.0.0', check, () => undefined)
const refusal = async (work: Promise<unknown>): Promise<string> => {
  try {
    await work
  } catch (error) {
    return (error as Error).message
  }
  throw new Error('it was not refused')
}

cacheTest('holds a package with its hash beside it, as sha256sum reads it', async ({ cache, place }) => {
  assert.is(await cache.find('test.pack', '1.0.0'), undefined)
  assert.not.ok(existsSync(place), 'looking makes no directory')
  const kept = await keep(cache)
  assert.is(kept.checked, 'fine')
  assert.is(kept.sha, SHA)
  assert.equal(readdirSync(place).toSorted(), ['test.pack#1.0.0.tgz', 'test.pack#1.0.0.tgz.sha256'])
  assert.is(readFileSync(join(place, 'test.pack#1.0.0.tgz.sha256'), 'utf8'), `${SHA}  test.pack#1.0.0.tgz\n`)
  assert.equal(await cache.find('test.pack', '1.0.0'), { path: join(place, 'test.pack#1.0.0.tgz'), sha: SHA })
  assert.equal(await cache.versions('test.pack'), ['1.0.0'])
  assert.equal(await cache.versions('test'), [])
})

cacheTest('gives a file its name only after it was checked', async ({ cache, place }) => {
  let seen: string[] = []
  await keep(cache, download(), async () => {
    seen = readdirSync(place)
    return ''
  })
  assert.equal(seen, ['test.pack#1.0.0.id-1.part'])
})

cacheTest('keeps nothing of a package that fails its check', async ({ cache, place }) => {
  const fail = async (): Promise<string> => {
    throw new Error('a bad entry')
  }
  assert.is(await refusal(keep(cache, download(), fail)), 'a bad entry')
  assert.equal(readdirSync(place), [])
})

cacheTest('keeps nothing of a download that breaks off', async ({ cache, place }) => {
  const broken: Download = {
    ...download(),
    bytes: (async function* () {
      yield BYTES
      throw new Error('the connection broke')
    })(),
  }
  assert.is(await refusal(keep(cache, broken)), 'the connection broke')
  assert.equal(readdirSync(place), [])
})

for (const algorithm of ['sha1', 'sha256', 'sha384', 'sha512'] as const)
  cacheTest(`refuses a download whose ${algorithm} is not what was promised`, async ({ cache, place }) => {
    const right = createHash(algorithm).update(BYTES).digest('hex')
    const wrong = createHash(algorithm).update('other').digest('hex')
    const message = await refusal(keep(cache, download(BYTES, [{ algorithm, hex: wrong }])))
    assert.is(
      message.slice(0, message.indexOf('. The download')),
      `The package test.pack@1.0.0 from http://127.0.0.1/test.pack/1.0.0 is refused: its ${algorithm} is ${right} and the registry promised ${wrong}`,
    )
    assert.equal(readdirSync(place), [])
    await keep(cache, download(BYTES, [{ algorithm, hex: right }]))
    assert.ok(await cache.find('test.pack', '1.0.0'))
  })

cacheTest('does not believe a file that changed, nor one without its hash, and removes it', async (context) => {
  const { cache, place, damaged } = context
  const file = join(place, 'test.pack#1.0.0.tgz')
  await keep(cache)
  appendFileSync(file, 'x')
  assert.is(await cache.find('test.pack', '1.0.0'), undefined)
  assert.equal(readdirSync(place), [])
  await keep(cache)
  rmSync(`${file}.sha256`)
  assert.is(await cache.find('test.pack', '1.0.0'), undefined)
  assert.equal(readdirSync(place), [])
  assert.equal(damaged, [file, file])
})

cacheTest('removes what a killed process left a day ago, and not what one writes now', async ({ cache, place }) => {
  mkdirSync(place, { recursive: true })
  const [old, fresh] = ['old.part', 'fresh.part'].map((name) => join(place, name)) as [string, string]
  for (const part of [old, fresh]) writeFileSync(part, 'x')
  utimesSync(old, NOW / 1000 - 90_000, NOW / 1000 - 90_000)
  utimesSync(fresh, NOW / 1000 - 80_000, NOW / 1000 - 80_000)
  await keep(cache)
  assert.not.ok(existsSync(old))
  assert.ok(existsSync(fresh))
})

cacheTest('says that its directory cannot be used, and what to set', async ({ folder, cache }) => {
  writeFileSync(join(folder.path, 'deep'), 'a file where a directory must be')
  const message = await refusal(keep(cache))
  assert.match(message, `The package cache ${cache.place} cannot be used: `)
  assert.match(message, 'package_cache or SERVER_PACKAGE_CACHE')
})

cacheTest.run()

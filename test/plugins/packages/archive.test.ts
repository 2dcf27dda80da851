/** Reading .tgz files: what is refused, by which words, and that nothing touches the disk. */
import { readdirSync } from 'node:fs'
import { gzipSync } from 'node:zlib'
import { pack } from 'tar-stream'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { ARCHIVE_LIMITS, type ArchiveLimits, readArchive } from '../../../plugins/packages/archive.ts'
import { temporaryFolder } from '../../support/database-kinds.ts'
import { packageEntries, pax, structure, type TarEntry, tar, tgz } from '../../support/tgz.ts'

const GOOD = packageEntries({
  name: 'test.pack',
  version: '1.0.0',
  files: { 'StructureDefinition-one.json': structure('one', 'http://example.org/one') },
})

async function* partsOf(bytes: Buffer, size = 4096): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size)
}

const namesIn = async (bytes: Buffer, limits?: ArchiveLimits): Promise<string[]> => {
  const names: string[] = []
  for await (const { name } of readArchive(partsOf(bytes), 'test.pack@1.0.0', limits)) names.push(name)
  return names
}

/** The message of the refusal of these bytes. */
const refusal = async (bytes: Buffer, limits?: ArchiveLimits): Promise<string> => {
  try {
    await namesIn(bytes, limits)
  } catch (error) {
    const { message, key } = error as Error & { key?: string }
    assert.match(key ?? 'no key', /^packages\//)
    assert.not.match(message, /\n/)
    assert.match(message, 'test.pack@1.0.0')
    return message
  }
  throw new Error('the archive was read')
}

test('a package gives its package.json and its definitions', async () => {
  assert.equal(await namesIn(tgz(GOOD)), ['package.json', 'StructureDefinition-one.json'])
})

test('directories, examples, other folders, other files and ./ in names are passed over', async () => {
  const names = await namesIn(
    tgz([
      { name: 'package/', flag: '5', mode: 0o2755 },
      ...GOOD.map(({ name, body = '' }) => ({ name: `./${name}`, body })),
      { name: 'package/example/', flag: '5' },
      { name: 'package/example/Patient-p.json', body: '{"resourceType":"Patient"}' },
      { name: 'package/other/ig.json', body: '{"resourceType":"StructureDefinition"}' },
      { name: 'package/openapi.txt', body: 'x' },
      { name: 'package/Patient-p.json', body: '\ufeff { "resourceType" : "Patient", "id": "p" }' },
      { name: 'README.md', body: 'x' },
      { name: 'package/', flag: '5' },
    ]),
  )
  assert.equal(names, ['package.json', 'StructureDefinition-one.json'])
})

test('an archive that tar-stream writes, with a name of 150 characters, is read', async () => {
  const packer = pack()
  const long = `StructureDefinition-${'x'.repeat(150)}.json`
  for (const { name, body } of GOOD) packer.entry({ name: String(name) }, body as string)
  packer.entry({ name: `package/${long}` }, JSON.stringify(structure('x', 'http://example.org/x')))
  packer.finalize()
  const parts: Uint8Array[] = []
  for await (const part of packer) parts.push(part as Uint8Array)
  assert.ok((await namesIn(gzipSync(Buffer.concat(parts)))).includes(long))
})

const BAD: readonly [string, TarEntry | TarEntry[], RegExp][] = [
  ['a name that leads out', { name: '../x', body: 'x' }, /entry "\.\.\/x" points outside the package/],
  ['a name that leads out further in', { name: 'package/a/../../../x', body: 'x' }, /points outside/],
  ['a name that leads out with backslashes', { name: 'package\\..\\..\\x', body: 'x' }, /points outside/],
  ['a pax path that leads out', [pax({ path: '../../etc/cron.d/x' }), { name: 'ok', body: 'x' }], /"\.\.\/\.\.\/etc/],
  [
    'a GNU long name that leads out',
    [{ name: '././@LongLink', flag: 'L', body: '../../x\0' }, { name: 'ok' }],
    /outside/,
  ],
  ['an absolute path', { name: '/etc/passwd', body: 'x' }, /entry "\/etc\/passwd" has an absolute path/],
  ['a path on a share', { name: '\\\\host\\share\\x', body: 'x' }, /has an absolute path/],
  ['a path on a drive', { name: 'C:..\\x', body: 'x' }, /entry "C:\.\.\\\\x" has a path on a drive/],
  ['a symbolic link', { name: 'package/out', flag: '2', linkname: '/tmp' }, /"package\/out" is a symbolic link/],
  ['a hard link', { name: 'package/out', flag: '1', linkname: '../../x' }, /"package\/out" is a hard link/],
  ['a character device', { name: 'package/null', flag: '3' }, /"package\/null" is a device/],
  ['a block device', { name: 'package/sda', flag: '4' }, /"package\/sda" is a device/],
  ['a named pipe', { name: 'package/pipe', flag: '6' }, /"package\/pipe" is a named pipe/],
  ['a setuid file', { name: 'package/run', mode: 0o4755, body: 'x' }, /"package\/run" is setuid or setgid/],
  ['a setgid file', { name: 'package/run', mode: 0o2755, body: 'x' }, /is setuid or setgid/],
  ['a GNU sparse file', { name: 'package/big', flag: 'S', body: 'x' }, /"package\/big" is of a kind .*sparse/],
  ['a pax sparse file', [pax({ 'GNU.sparse.major': '1' }), { name: 'package/big', body: 'x' }], /is a sparse file/],
  [
    'a file of 10 GB',
    { name: 'package/big.json', size: 10 * 1024 ** 3 },
    /"package\/big.json" is larger than 268435456/,
  ],
  ['a pax size of 10 GB', [pax({ size: String(10 * 1024 ** 3) }), { name: 'package/big' }], /is larger than 268435456/],
  ['a control character', { name: 'package/a\nb', body: 'x' }, /"package\/a\\nb" has control characters/],
  ['no name', { name: '', body: 'x' }, /has no name/],
  ['a name given twice', [{ name: 'package/a' }, { name: 'package/a' }], /"package\/a" is a twin of "package\/a"/],
  ['a name given twice, once with ./', [{ name: 'package/a' }, { name: './package//a' }], /is a twin of/],
  ['twins in case', [{ name: 'package/a' }, { name: 'package/A' }], /"package\/A" is a twin of "package\/a"/],
  ['twins NFC and NFD', [{ name: 'package/\u00e9' }, { name: 'package/e\u0301' }], /is a twin of/],
  ['twins ß and ss', [{ name: 'package/stra\u00dfe' }, { name: 'package/STRASSE' }], /is a twin of/],
  ['twins ﬁ and fi', [{ name: 'package/\ufb01' }, { name: 'package/fi' }], /is a twin of/],
]
for (const [what, bad, words] of BAD)
  test(`an archive with ${what} is refused by the name of the entry`, async () => {
    assert.match(await refusal(tgz([...GOOD, ...[bad].flat()])), words)
  })

test('a file through a symbolic link is never reached: the link is refused before it', async () => {
  const folder = temporaryFolder()
  try {
    const bytes = tgz([
      { name: 'package/out', flag: '2', linkname: folder.path },
      { name: 'package/out/written', body: 'x' },
      ...GOOD,
    ])
    assert.match(await refusal(bytes), /"package\/out" is a symbolic link/)
    assert.equal(readdirSync(folder.path), [])
  } finally {
    folder.remove()
  }
})

test('an archive of more than 200,000 entries is refused', async () => {
  const bytes = tgz(Array.from({ length: 2_001 }, (_, at) => ({ name: `package/n/${at}` })))
  assert.match(await refusal(bytes, { ...ARCHIVE_LIMITS, entries: 2_000 }), /it has more than 2000 entries/)
  assert.is(ARCHIVE_LIMITS.entries, 200_000)
})

test('an archive that is larger unpacked than allowed is refused', async () => {
  const bytes = tgz([...GOOD, { name: 'package/a', body: Buffer.alloc(200_000, 'ab') }])
  assert.match(await refusal(bytes, { ...ARCHIVE_LIMITS, totalBytes: 100_000 }), /larger than 100000 bytes unpacked/)
  assert.is(ARCHIVE_LIMITS.totalBytes, 2 * 1024 ** 3)
})

test('a gzip bomb is refused long before it is unpacked', async () => {
  const zeros = gzipSync(Buffer.alloc(16 * 1024 * 1024))
  let sent = 0
  const bomb = async function* () {
    for (let part = 0; part < 1000; part += 1) {
      sent += 1
      yield zeros
    }
  }
  try {
    for await (const _ of readArchive(bomb(), 'test.pack@1.0.0')) assert.unreachable()
    assert.unreachable()
  } catch (error) {
    assert.match((error as Error).message, /it unpacks to more than 200 times its size/)
  }
  assert.ok(sent < 20, `${sent} of 1000 parts were read`)
})

test('a pax header of many megabytes is refused', async () => {
  const bytes = tgz([{ name: 'PaxHeader', flag: 'x', body: Buffer.alloc(5 * 1024 * 1024, 'x') }, ...GOOD])
  assert.match(await refusal(bytes), /cannot be read as a \.tgz/)
})

test('what is no .tgz is named for what it is', async () => {
  assert.match(await refusal(Buffer.from('<!doctype html><title>Sign in</title>')), /it is a web page \(HTML\)/)
  assert.match(await refusal(tar(GOOD)), /it is no \.tgz/)
  assert.match(await refusal(Buffer.alloc(0)), /it is empty/)
  assert.match(await refusal(gzipSync('hello '.repeat(200))), /cannot be read as a \.tgz/)
})

test('a .tgz that is cut short or damaged is refused', async () => {
  const bytes = tgz([
    ...GOOD,
    { name: 'package/noise', body: Buffer.from(Array.from({ length: 9000 }, (_, i) => (i * i * 7) & 255)) },
  ])
  assert.match(await refusal(bytes.subarray(0, bytes.length - 20)), /it is cut short/)
  const damaged = Buffer.from(bytes)
  damaged[damaged.length - 6]! ^= 0xff
  assert.match(await refusal(damaged), /it is damaged/)
  assert.match(await refusal(gzipSync(tar(GOOD).subarray(0, 700))), /it is cut short/)
})

test('reading may be left early', async () => {
  for await (const { name } of readArchive(partsOf(tgz(GOOD), 64), 'test.pack@1.0.0')) {
    assert.is(name, 'package.json')
    break
  }
})

test.run()

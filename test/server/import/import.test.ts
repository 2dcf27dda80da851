/** Imports of files: what is stored, what is refused and named, and what an interrupted import goes on with. */
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { pack } from 'tar-stream'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { definePlugin, toServerError } from '../../../kernel/index.ts'
import audit from '../../../plugins/audit/index.ts'
import importing from '../../../plugins/import/index.ts'
import { Importing, type ImportOptions, type ImportSummary } from '../../../plugins/import/service.ts'
import references from '../../../plugins/references/index.ts'
import { temporaryFolder } from '../../support/database-kinds.ts'
import { basic, serverWith, type TestServer } from '../../support/server-with.ts'

/** Refuses all writes from a given one on, as a database that goes away does. */
let left = Number.POSITIVE_INFINITY
const breaking = definePlugin({
  name: 'breaking',
  setup({ hooks }) {
    hooks.onWrite.tap('break', () => {
      left -= 1
      if (left < 0) throw new Error('the power is gone')
    })
  },
})

interface Imported extends ImportSummary {
  /** `file:line message` of refusals. */
  readonly refused: readonly string[]
  readonly resumed: readonly string[]
  readonly again: readonly number[]
}

let server: TestServer | undefined
let folder: ReturnType<typeof temporaryFolder>
/** Starts another server. Most tests share the first one: they use other ids, and count what is there before. */
const start = async (conformance: Record<string, unknown> = {}): Promise<void> => {
  await server?.stop()
  server = undefined
  server = await serverWith({ plugins: [...basic, references, importing, breaking, audit], settings: { conformance } })
}
test.before(() => start())
test.before.each(() => {
  folder = temporaryFolder()
  left = Number.POSITIVE_INFINITY
})
test.after.each(() => folder.remove())
test.after(() => server?.stop())

const write = (name: string, content: string | Uint8Array): string => {
  const path = join(folder.path, name)
  mkdirSync(join(path, '..'), { recursive: true })
  writeFileSync(path, content)
  return path
}
const lines = (...resources: readonly (object | string)[]): string =>
  resources.map((one) => (typeof one === 'string' ? one : JSON.stringify(one))).join('\n')
const patient = (id: string | undefined, more: object = {}): object => ({ resourceType: 'Patient', id, ...more })

const run = async (
  paths: readonly string[],
  options: Partial<ImportOptions> = {},
  whenTriedAgain?: () => void,
): Promise<Imported> => {
  const [refused, resumed, again]: [string[], string[], number[]] = [[], [], []]
  const summary = await (server as TestServer).get(Importing).run(
    { paths, isDryRun: false, isAgain: false, parallel: 4, ...options },
    {
      refused: ({ file, line, error }) => void refused.push(`${file}:${line} ${toServerError(error).message}`),
      resumed: (name, resources) => void resumed.push(`${name} ${resources}`),
      again(records) {
        if (again.push(records) === 1) whenTriedAgain?.()
      },
    },
  )
  return { ...summary, refused, resumed, again }
}
const read = async (url: string) => {
  const { statusCode, body } = await (server as TestServer).inject(url)
  return { status: statusCode, text: body, json: JSON.parse(body) as any }
}
const total = async (type: string): Promise<number> => (await read(`/${type}?_summary=count`)).json.total

test('NDJSON is stored under its ids, or under new ones, with the text that was sent', async () => {
  const path = write(
    'Patient.ndjson',
    lines(
      patient('a'),
      '',
      patient('b', { active: true }),
      patient(undefined),
      `{"resourceType":"Observation","id":"o","status":"final","code":{"text":"x"},"valueQuantity":{"value":1.00}}`,
    ),
  )
  assert.equal(await run([path]), { resources: 4, failed: 0, skipped: 0, refused: [], resumed: [], again: [] })
  assert.is((await read('/Patient/b')).json.active, true)
  assert.is(await total('Patient'), 3)
  assert.match((await read('/Observation/o')).text, /"value":1\.00/)
})

test('directories, gzip and archives are read, and other files in them are left alone', async () => {
  const archive = pack()
  archive.entry({ name: 'out/Patient.ndjson' }, lines(patient('t1'), patient('t2')))
  archive.entry({ name: 'out/notes.txt' }, 'nothing')
  archive.entry({ name: 'out/one.json.gz' }, gzipSync(lines(patient('t3'))))
  archive.finalize()
  const parts: Buffer[] = []
  for await (const part of archive as AsyncIterable<Buffer>) parts.push(part)
  const bytes = Buffer.concat(parts)
  write('all/b.tar.gz', gzipSync(bytes))
  write('all/deep/a.ndjson.gz', gzipSync(lines(patient('g1'))))
  write('all/readme.md', 'nothing')
  assert.is((await run([join(folder.path, 'all')])).resources, 4)
  for (const id of ['t1', 't2', 't3', 'g1']) assert.is((await read(`/Patient/${id}`)).status, 200)
})

test('Bundles are taken apart in one transaction, with references by fullUrl; other Bundles are resources', async () => {
  const [one, two] = ['urn:uuid:0c3151bd-1cbf-4d64-b04d-cd9187a4c6e0', 'https://elsewhere.example.org/Patient/e']
  const observation = { resourceType: 'Observation', status: 'final', code: { text: 'x' } }
  const transaction = {
    resourceType: 'Bundle',
    type: 'transaction',
    entry: [
      { fullUrl: one, resource: patient(undefined), request: { method: 'POST', url: 'Patient' } },
      { resource: { ...observation, subject: { reference: one } }, request: { method: 'POST', url: 'Observation' } },
    ],
  }
  const collection = {
    resourceType: 'Bundle',
    type: 'collection',
    entry: [
      { fullUrl: two, resource: patient('e') },
      { resource: { ...observation, id: 'oe', subject: { reference: two } } },
    ],
  }
  const document = { resourceType: 'Bundle', id: 'doc', type: 'document' }
  const before = await total('Patient')
  const path = write('bundles.ndjson', lines(transaction, collection, document))
  assert.equal((await run([path])).refused, [])
  assert.is(await total('Patient'), before + 2)
  assert.is((await read('/Observation/oe')).json.subject.reference, 'Patient/e')
  const others = (await read('/Observation')).json.entry.filter((one: any) => !['o', 'oe'].includes(one.resource.id))
  assert.is(others.length, 1)
  const [{ resource }] = others
  assert.is((await read(`/${resource.subject.reference}`)).status, 200)
  assert.is((await read('/Bundle/doc')).json.type, 'document')
})

test('a refused record is named by its file and line, all others are stored, and a second run leaves the file out', async () => {
  const all = Array.from({ length: 40 }, (_, at) => patient(`p${at}`))
  const path = write(
    'p.ndjson',
    lines(...all.slice(0, 20), '{"resourceType":', patient('bad', { resourceType: 'Nonsense' }), ...all.slice(20)),
  )
  const before = await total('Patient')
  const { resources, failed, refused } = await run([path])
  assert.is(resources, 40)
  assert.is(failed, 2)
  assert.equal(refused.map((one) => one.split(' ')[0]).sort(), ['p.ndjson:21', 'p.ndjson:22'])
  assert.is(await total('Patient'), before + 40)
  const second = await run([path])
  assert.is(second.skipped, 1)
  assert.is(second.resources, 0)
  assert.is((await run([path], { isAgain: true })).resources, 40)
  assert.is((await read('/Patient/p0')).json.meta.versionId, '1', 'what has not changed makes no version')
})

test('an import that is broken off goes on where it was, and stores nothing twice', async () => {
  const path = write('many.ndjson', lines(...Array.from({ length: 1_200 }, () => patient(undefined))))
  const bundle = {
    resourceType: 'Bundle',
    type: 'transaction',
    entry: [{ resource: patient(undefined), request: { method: 'POST', url: 'Patient' } }],
  }
  const other = write('bundle.json', JSON.stringify(bundle))
  const before = await total('Patient')
  for (const after of [300, 270, 510]) {
    left = after
    try {
      await run([path, other], { parallel: 2 })
      assert.unreachable()
    } catch (error) {
      assert.is.not((error as Error).message, 'Expected unreachable code to not be reached')
    }
  }
  left = Number.POSITIVE_INFINITY
  const { resumed, resources } = await run([path, other])
  assert.is(resumed.length, 1)
  assert.is(resources, 1_201)
  assert.is(await total('Patient'), before + 1_201)
})

const tarOf = async (...entries: readonly [header: Record<string, unknown>, content: string][]): Promise<Buffer> => {
  const archive = pack()
  for (const [header, content] of entries) archive.entry(header as { name: string }, content)
  archive.finalize()
  const parts: Buffer[] = []
  for await (const part of archive as AsyncIterable<Buffer>) parts.push(part)
  return Buffer.concat(parts)
}

test('bytes that are not UTF-8 are refused with file and line, in lines and in whole files', async () => {
  const latin = Buffer.from('{"resourceType":"Patient","id":"l","name":[{"family":"M\xfcller"}]}', 'latin1')
  const path = write('l.ndjson', Buffer.concat([Buffer.from(`${lines(patient('a'))}\n`), latin, Buffer.from('\n')]))
  const { resources, refused } = await run([path, write('whole.json', latin)])
  assert.is(resources, 1)
  assert.equal(refused, ['l.ndjson:2 It is not valid UTF-8.', 'whole.json:undefined It is not valid UTF-8.'])
  assert.is((await read('/Patient/l')).status, 404)
})

test('what was refused by an earlier run is counted again, whether the file was done or not', async () => {
  const path = write('p.ndjson', lines(patient('a'), patient('bad', { resourceType: 'Nonsense' })))
  assert.is((await run([path])).failed, 1)
  const { failed, skipped } = await run([path])
  assert.equal([failed, skipped], [1, 1])
})

test('a file that cannot be read is refused, and those behind it are stored', async () => {
  write('all/a.tar.gz', gzipSync(await tarOf([{ name: 'p.ndjson' }, lines(patient('a'))])).subarray(0, 40))
  write('all/b.ndjson', lines(patient('b')))
  const { resources, refused } = await run([join(folder.path, 'all')])
  assert.is(resources, 1)
  assert.match(refused.join(), /^a\.tar\.gz:undefined The file a\.tar\.gz cannot be read/)
})

test('contiguous files of an archive are read, links are refused, and names of entries are printed without control characters', async () => {
  const bytes = await tarOf(
    [{ name: 'p.ndjson', type: 'contiguous-file' }, lines(patient('c'))],
    [{ name: 'link.ndjson', type: 'symlink', linkname: 'p.ndjson' }, ''],
    [{ name: 'a\u001b[31m\n.ndjson' }, 'nothing'],
  )
  const { resources, refused } = await run([write('x.tar', bytes)])
  assert.is(resources, 1)
  assert.match(
    refused.find((one) => one.includes('link')) ?? '',
    /^x\.tar\/link\.ndjson:undefined Its type in the archive is symlink/,
  )
  assert.match(refused.find((one) => one.includes('31m')) ?? '', /^x\.tar\/a\\u\{1b\}\[31m\\u\{a\}\.ndjson:1 /)
})

test('more than a megabyte of blank lines ends the reading of a file', async () => {
  const blank = '\n'.repeat(1_100_000)
  const { resources, refused } = await run([write('b.ndjson', `${lines(patient('a'))}${blank}${lines(patient('b'))}`)])
  assert.is(resources, 1)
  assert.match(refused.join(), /^b\.ndjson:undefined It has more than 1048576 bytes of blank lines/)
})

test('a dry run checks everything and stores nothing', async () => {
  const path = write('p.ndjson', lines(patient('d1'), patient('bad', { resourceType: 'Nonsense' }), patient('d2')))
  const before = await total('Patient')
  const { resources, refused } = await run([path], { isDryRun: true })
  assert.is(resources, 2)
  assert.match(refused[0] as string, /^p\.ndjson:2 /)
  assert.is(await total('Patient'), before)
  assert.is((await run([path])).resources, 2, 'it leaves no note that the file is done')
})

test('records that refer to records of later files are stored once those are there', async () => {
  await start({ reference_policy: 'strict' })
  const observation = (id: string, to: string): object => ({
    resourceType: 'Observation',
    id,
    status: 'final',
    code: { text: 'x' },
    subject: { reference: `Patient/${to}` },
  })
  const first = write('1.ndjson', lines(observation('o1', 'late'), observation('o2', 'never')))
  const second = write('2.ndjson', lines(patient('late')))
  // Few records are kept, so the file is not read again.
  const { resources, again, refused } = await run([first, second], { parallel: 1 }, () => rmSync(first))
  assert.equal(again, [2, 1])
  assert.is(resources, 2)
  assert.is(refused.length, 1)
  assert.match(refused[0] as string, /^1\.ndjson:2 /)
  assert.is((await read('/Observation/o1')).status, 200)
  await start()
})

test('text that JSON.parse accepts and the server refuses is refused as a create would be, and the trail shows it', async () => {
  const twice = '{"resourceType":"Patient","id":"twice","active":true,"active":false}'
  const { resources, refused } = await run([write('p.ndjson', lines(patient('a'), twice, patient('b')))])
  assert.is(resources, 2)
  assert.ok(JSON.stringify((await read('/AuditEvent?_count=100')).json).includes('Patient/twice'))
  const direct = await (server as TestServer).inject({
    method: 'PUT',
    url: '/Patient/twice',
    headers: { 'content-type': 'application/fhir+json' },
    payload: twice,
  })
  assert.is(direct.statusCode, 400)
  const [issue] = (JSON.parse(direct.body) as { issue: { diagnostics: string }[] }).issue
  assert.match(refused.join(), `p.ndjson:2 ${issue?.diagnostics}`)
})

test('the audit trail names each resource', async () => {
  await run([write('p.ndjson', lines(patient('named1'), patient('named2')))])
  const { json } = await read('/AuditEvent?_count=100')
  const text = JSON.stringify(json)
  for (const id of ['Patient/named1', 'Patient/named2']) assert.ok(text.includes(id), id)
})

test('what cannot be an import is refused before anything is read', async () => {
  for (const [path, said] of [
    [join(folder.path, 'nowhere'), /There is no file or directory/],
    [write('a.csv', 'a,b'), /its name ends with none of/],
    [write('empty/readme.md', ''), /its name ends with none of/],
    [join(folder.path, 'empty'), /has no file whose name ends with/],
  ] as const)
    await run([path]).then(
      () => assert.unreachable(path),
      (error: Error) => assert.match(error.message, said),
    )
  const broken = write('broken.ndjson.gz', gzipSync(lines(patient('a'), patient('b'))).subarray(0, 40))
  assert.match((await run([broken])).refused.join(), /broken\.ndjson\.gz cannot be read/)
})

test.run()

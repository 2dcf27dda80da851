/** Parts of an export: their bounds, what an attempt finds of the one before, and what lies in their folder. Rows K20, K24. */
import { mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import type { Transaction } from '../../../plugins/database/service.ts'
import { createExportFolder } from '../../../plugins/export/export-folder.ts'
import type { ExportSpec } from '../../../plugins/export/export-spec.ts'
import type { PartRow } from '../../../plugins/export/tables.ts'
import { writeParts } from '../../../plugins/export/write-parts.ts'
import type { AsOfOptions, AsOfResource, Session } from '../../../plugins/fhir/service.ts'
import type { RunningJob } from '../../../plugins/jobs/service.ts'
import type { ResourceType } from '../../../plugins/model/service.ts'
import { temporaryFolder } from '../../support/database-kinds.ts'

const JOB = 'a'.repeat(32)
const SPEC: ExportSpec = {
  level: 'system',
  request: '',
  baseUrl: '',
  types: ['Basic', 'Patient'],
  filters: {},
  notes: [],
}
const types = new Map(SPEC.types.map((name) => [name, { name } as ResourceType]))

/** Resources of a type with the keys 1 to `count`, and bodies of some size. */
const resource = (type: string, key: number, size: number): AsOfResource => {
  const json = JSON.stringify({ resourceType: type, id: String(key), x: 'y'.repeat(size) })
  return {
    type,
    id: String(key),
    version: 1,
    lastUpdated: 0,
    key,
    json,
    packed: { bytes: Buffer.from(json), encoding: 0 },
  }
}

interface Bench {
  readonly dir: string
  readonly rows: PartRow[]
  /** Keys that were asked for: type and the key behind which. */
  readonly asked: string[]
  write(attempt?: number): Promise<void>
  files(): readonly string[]
}

const withBench = async (
  work: (bench: Bench) => Promise<void>,
  {
    counts = { Basic: 3, Patient: 2 },
    size = 0,
    failAt,
  }: { counts?: Record<string, number>; size?: number; failAt?: () => number } = {},
): Promise<void> => {
  const place = temporaryFolder()
  const folder = createExportFolder(place.path)
  const rows: PartRow[] = []
  const asked: string[] = []
  const session = {
    async *asOf(type: string, { after = 0 }: AsOfOptions) {
      asked.push(`${type} ${after}`)
      for (let key = after + 1; key <= (counts[type] ?? 0); key += 500)
        yield Array.from({ length: Math.min(500, (counts[type] as number) - key + 1) }, (_, at) =>
          resource(type, key + at, size),
        )
    },
  } as unknown as Session
  const write = async (attempt = 1): Promise<void> => {
    const path = await folder.make(JOB)
    const put = (row: PartRow): void => {
      const at = rows.findIndex(({ part }) => part === row.part)
      if (at === -1) rows.push(row)
      else rows[at] = row
    }
    const job = {
      ...{ id: JOB, upto: 1, attempt, signal: new AbortController().signal },
      async write(store: (transaction: Transaction) => unknown) {
        if (failAt?.() === rows.length) throw new Error('killed')
        store({
          run: (
            _statement: unknown,
            [, part, section, type, after_rid, upto_rid, is_last, own, file, lines, bytes, sha256]: any[],
          ) =>
            put({
              job: JOB,
              part,
              section,
              type,
              after_rid,
              upto_rid,
              is_last,
              attempt: own,
              file,
              lines,
              bytes,
              sha256,
            }),
        } as unknown as Transaction)
      },
      ...{ report: () => undefined, pause: () => undefined, resume: () => undefined },
    } as unknown as RunningJob
    await writeParts(
      { job, spec: SPEC, session, folder, path, types, patients: undefined, filterOf: async () => undefined },
      [...rows],
    )
  }
  try {
    await work({
      dir: join(place.path, JOB),
      rows,
      asked,
      write,
      files: () => readdirSync(join(place.path, JOB)).sort(),
    })
  } finally {
    place.remove()
  }
}

test('a part ends at 50,000 resources, and the next one goes on behind it', () =>
  withBench(
    async ({ rows, write, dir }) => {
      await write()
      assert.equal(
        rows.map(({ type, lines, after_rid, upto_rid, is_last }) => [type, lines, after_rid, upto_rid, is_last]),
        [
          ['Basic', 50_000, 0, 50_000, 0],
          ['Basic', 1, 50_000, 50_001, 1],
          ['Patient', 0, 0, 0, 1],
        ],
      )
      for (const { file, bytes } of rows) if (file !== '') assert.is(readFileSync(join(dir, file)).length, bytes)
    },
    { counts: { Basic: 50_001 } },
  ))

test('a part ends at 64 MB', () =>
  withBench(
    async ({ rows, write }) => {
      await write()
      const basic = rows.filter(({ type }) => type === 'Basic')
      assert.equal(
        basic.map(({ lines }) => lines),
        [32, 8],
      )
    },
    { counts: { Basic: 40 }, size: 2 * 1024 * 1024 },
  ))

test('an attempt goes on behind the last part of the one before, and leaves its files alone', async () => {
  let failing = 1
  await withBench(
    async ({ rows, asked, write, files }) => {
      await write().then(
        () => assert.unreachable(),
        () => undefined,
      )
      assert.is(rows.length, 1)
      failing = -1
      const [before] = rows
      asked.length = 0
      await write(2)
      assert.equal(asked, ['Patient 0'])
      assert.is(rows[0], before)
      // The file of the first attempt at the second part is in no row.
      assert.equal(files(), ['1-1.ndjson', '2-1.ndjson', '2-2.ndjson'])
      assert.equal(
        rows.map(({ file }) => file),
        ['1-1.ndjson', '2-2.ndjson'],
      )
    },
    { failAt: () => failing },
  )
})

test('a part whose file is gone, or has another size, is made again with the same content', () =>
  withBench(async ({ dir, rows, write }) => {
    await write()
    const digests = rows.map(({ sha256 }) => sha256)
    rmSync(join(dir, '1-1.ndjson'))
    writeFileSync(join(dir, '2-1.ndjson'), 'cut')
    await write(2)
    assert.equal(
      rows.map(({ sha256 }) => sha256),
      digests,
    )
    assert.equal(
      rows.map(({ file }) => file),
      ['1-2.ndjson', '2-2.ndjson'],
    )
  }))

test('K24: a link or a file that somebody has planted is not written through', () =>
  withBench(async ({ dir, write, rows, files }) => {
    mkdirSync(dir)
    const target = join(dir, '..', 'target')
    symlinkSync(target, join(dir, '1-1.ndjson.tmp'))
    await write().then(
      () => assert.unreachable(),
      (error) => assert.is(error.key, 'export/files'),
    )
    assert.equal(rows, [])
    assert.not.match(readdirSync(join(dir, '..')).join(), 'target')
    await write(2)
    assert.is(rows[0]?.file, '1-2.ndjson')
    assert.ok(files().includes('1-1.ndjson.tmp'))
  }))

test('K24: a link in place of the folder of the job is refused, and so is one in place of a file that is read', () =>
  withBench(async ({ dir, write, rows }) => {
    const place = temporaryFolder()
    symlinkSync(place.path, dir)
    await write().then(
      () => assert.unreachable(),
      (error) => assert.is(error.key, 'export/files'),
    )
    assert.equal(readdirSync(place.path), [])
    rmSync(dir)
    await write()
    const folder = createExportFolder(join(dir, '..'))
    const { file, bytes } = rows[0] as PartRow
    writeFileSync(join(place.path, 'secret'), 'z'.repeat(bytes))
    rmSync(join(dir, file))
    symlinkSync(join(place.path, 'secret'), join(dir, file))
    await folder.read(JOB, file, bytes).then(
      () => assert.unreachable(),
      (error) => assert.is(error.key, 'export/files'),
    )
    place.remove()
  }))

test('folders without a job are removed once they are an hour old', async () => {
  const place = temporaryFolder()
  const folder = createExportFolder(place.path)
  for (const id of [JOB, 'b'.repeat(32)]) await folder.make(id)
  mkdirSync(join(place.path, 'own'))
  const isKnown = async (id: string): Promise<boolean> => id === JOB
  await folder.sweep(isKnown, Date.now() + 3_500_000)
  assert.is(readdirSync(place.path).length, 3)
  await folder.sweep(isKnown, Date.now() + 3_700_000)
  assert.equal(readdirSync(place.path).sort(), [JOB, 'own'])
  place.remove()
})

test.run()

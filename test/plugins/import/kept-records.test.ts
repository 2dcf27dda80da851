/** Records with unresolved references are kept for another try, as long as there is room; else their files are read again. */
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { defineError, systemClock } from '../../../kernel/index.ts'
import type { SessionChange } from '../../../plugins/fhir/service.ts'
import type { ImportSource } from '../../../plugins/import/find-sources.ts'
import { type FilesParts, importFiles } from '../../../plugins/import/import-files.ts'
import type { RangeRow } from '../../../plugins/import/tables.ts'

const Unresolved = defineError('references/refused', 422, 'not-found', 'It refers to nothing.')

interface Imported {
  readonly opened: number
  readonly stored: readonly string[]
  readonly again: readonly number[]
  readonly failed: number
}

/** Imports records, each of which refers to the one behind it. */
const importChain = async (ids: readonly string[], keptChars: number | undefined): Promise<Imported> => {
  const stored: string[] = []
  const again: number[] = []
  const ranges: RangeRow[] = []
  let opened = 0
  const source: ImportSource = {
    id: 'chain',
    name: 'chain.ndjson',
    bytes: 1,
    open: async () => {
      opened += 1
      const lines = ids.map((id) => `{"resourceType":"Basic","id":"${id}"}\n`)
      return {
        bytes: (async function* () {
          yield Buffer.from(lines.join(''))
        })(),
        mark: '',
      }
    },
  }
  const idOf = (change: SessionChange): string => (change.kind === 'update' ? (change.id ?? '') : '')
  const parts: FilesParts = {
    database: {
      get: () => undefined,
      all: <R>() => ranges.toSorted((one, other) => Number(one.first) - Number(other.first)) as R[],
    },
    transact: async (work) => work({ run: () => undefined } as never),
    batchRecords: 1,
    keptChars,
    clock: systemClock,
    listener: { again: (records) => void again.push(records) },
    session: {
      change: async ([change]) => {
        const id = idOf(change as SessionChange)
        const next = ids[ids.indexOf(id) + 1]
        if (id === 'never' || (next !== undefined && !stored.includes(next))) throw Unresolved()
        stored.push(id)
        const number = ids.indexOf(id)
        ranges.push({ first: number, last: number, resources: 1, failed: 0 })
        return { changed: [] }
      },
      transaction: async () => '',
    },
  }
  const { failed } = await importFiles(parts, [source], { isDryRun: false, isAgain: false, parallel: 1 })
  return { opened, stored, again, failed }
}

test('they are tried again from memory, in the order of the file, until nothing more is resolved', async () => {
  const { opened, stored, again, failed } = await importChain(['a', 'b', 'c', 'd'], undefined)
  assert.equal(stored, ['d', 'c', 'b', 'a'])
  assert.equal(again, [3, 2, 1])
  assert.is(opened, 1)
  assert.is(failed, 0)
})

test('where there is no room for all of them the file is read again', async () => {
  const { opened, stored, again } = await importChain(['a', 'b', 'c', 'd'], 40)
  assert.equal(stored, ['d', 'c', 'b', 'a'])
  assert.equal(again, [3, 2, 1])
  // Only the last record that is left has room.
  assert.is(opened, 3)
})

test('what refers to nothing is refused by the last try', async () => {
  const { opened, stored, again, failed } = await importChain(['a', 'never'], undefined)
  assert.equal(stored, [])
  assert.equal(again, [2])
  assert.is(failed, 2)
  assert.is(opened, 1)
})

test.run()

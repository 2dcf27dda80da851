/** Rows of versions that were just written are kept with the resource, as long as somebody wants those of its type. */
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import type { ExtractionSource } from '../../../../plugins/search/index/extraction-source.ts'
import type { IndexEntries } from '../../../../plugins/search/index/index-entries.ts'
import { createWrittenRows } from '../../../../plugins/search/index/written-rows.ts'

const source = {} as ExtractionSource
const rowsOf = (): IndexEntries => ({ token: [1, 2, 3] }) as unknown as IndexEntries

test('rows are kept only while somebody wants those of the type', () => {
  const written = createWrittenRows()
  const [early, other, wanted, late] = [{}, {}, {}, {}]
  written.note('Patient', early, source, rowsOf())
  const end = written.want((type) => type === 'Patient')
  const rows = rowsOf()
  written.note('Patient', wanted, source, rows)
  written.note('Observation', other, source, rowsOf())
  end()
  written.note('Patient', late, source, rowsOf())
  assert.is(written.of(wanted, source), rows)
  for (const one of [early, other, late]) assert.is(written.of(one, source), undefined)
})

test('a resource that is written again has the rows of the last time, and none of another source', () => {
  const written = createWrittenRows()
  written.want(() => true)
  const resource = {}
  written.note('Patient', resource, source, rowsOf())
  const last = rowsOf()
  written.note('Patient', resource, source, last)
  assert.is(written.of(resource, source), last)
  assert.is(written.of(resource, {} as ExtractionSource), undefined)
})

test('they do not change the resource, and a copy of it has none', () => {
  const written = createWrittenRows()
  written.want(() => true)
  const resource = Object.freeze({ resourceType: 'Patient', id: 'a' })
  written.note('Patient', resource, source, rowsOf())
  assert.equal(Reflect.ownKeys(resource), ['resourceType', 'id'])
  assert.is(written.of({ ...resource }, source), undefined)
  assert.ok(written.of(resource, source))
})

test.run()
